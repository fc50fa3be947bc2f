package cluster

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/result"
)

// child is one process that makes a load.
type child struct {
	run    *hostRun
	job    ProcessJob
	orders chan ToProcess // has room for every order, so that giving one never blocks
	kill   func()         // nil until it is spawned; guarded by run.mu
}

// orderKinds is the most orders that a process gets: job, start, stop, abort and finish, each once.
const orderKinds = 5

// live runs the process from its start to its end.
func (c *child) live() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	p, err := c.run.a.o.Spawn(ctx)
	if err != nil {
		c.report(evFailed, partStatus{Text: fmt.Sprintf("start the process: %v", err)})
		c.report(evExited, partStatus{})
		return
	}
	c.run.mu.Lock()
	c.kill = func() { _ = p.Kill() } // fails only if the process has exited
	c.run.mu.Unlock()
	written := make(chan struct{})
	gone := make(chan struct{})
	go func() {
		defer close(written)
		c.write(p.In, gone)
	}()
	err = c.listen(p.Out)
	if err != nil {
		_ = p.Kill() // its output is no longer read
	}
	_, _ = io.Copy(io.Discard, p.Out) // a process that waits to write would never end
	err = errors.Join(err, p.Wait())
	close(gone)
	<-written
	text := "the process ended without a word"
	if err != nil {
		text = "the process died: " + err.Error()
	}
	c.report(evExited, partStatus{Text: text})
}

// report handles an event of the process, and logs its failure.
func (c *child) report(kind eventKind, status partStatus) {
	r, n := c.run, c.job.Part.Process
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.state.Parts[n-1].State
	_ = r.apply(event{Kind: kind, Process: n, Report: status}) // no error of an order
	if p := &r.state.Parts[n-1]; p.State != before && (p.State == partFailed || p.State == partGone) {
		r.log(fmt.Sprintf(", process %d: %s", n, cmp.Or(p.Text, "?")))
	}
}

// write sends the orders to the process until it is gone, and then closes its input.
func (c *child) write(in io.WriteCloser, gone <-chan struct{}) {
	defer func() { _ = in.Close() }() // a pipe has no buffer
	e := json.NewEncoder(in)
	for {
		select {
		case <-gone:
			return
		case m, ok := <-c.orders:
			if !ok || e.Encode(m) != nil {
				return // hung up, or the process has died, which listen notices
			}
		}
	}
}

// listen handles the messages of the process until the end of its output.
func (c *child) listen(out io.Reader) error {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, maxBody)
	for lines.Scan() {
		m, err := decodeFromProcess(lines.Bytes())
		switch {
		case err != nil:
			return fmt.Errorf("the process sent an invalid message: %w", err)
		case m.Ready != nil:
			c.report(evReady, partStatus{RunID: *m.Ready})
		case m.Began != nil:
			c.report(evBegan, partStatus{})
		case m.Load != nil:
			c.run.mu.Lock()
			c.run.state.Parts[c.job.Part.Process-1].Load = *m.Load
			c.run.mu.Unlock()
			if m.Load.Draining {
				c.report(evDraining, partStatus{})
			}
		case m.Ended != nil:
			c.report(evEnded, partStatus{Ended: &Ended{m.Ended.Code, clean(m.Ended.Text, maxText)}})
		case m.Failed != nil:
			c.report(evFailed, partStatus{Text: *m.Failed})
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read what the process says: %w", err)
	}
	return nil
}

// decodeFromProcess decodes and checks one line of a process.
func decodeFromProcess(line []byte) (*FromProcess, error) {
	m := new(FromProcess)
	err := decodeStrict(line, m)
	set := 0
	for _, is := range []bool{m.Ready != nil, m.Began != nil, m.Load != nil, m.Ended != nil, m.Failed != nil} {
		if is {
			set++
		}
	}
	switch {
	case err != nil:
	case set != 1:
		err = fmt.Errorf("%d of its fields are set, and one must be", set)
	case m.Ready != nil:
		err = checkName(*m.Ready)
	case m.Began != nil && !plausible(*m.Began):
		err = errors.New("it began at no time")
	case m.Load != nil && (m.Load.Buffered < 0 || m.Load.InFlight < 0):
		err = errors.New("its load is out of range")
	}
	return m, err
}

// watch writes the vitals of this machine during a run into a run file without a load. The zero value writes nothing.
type watch struct {
	id      string // of the run file; "": there is none
	problem string // the error of the file, or ""
	file    *result.RunFile
	stop    chan struct{}
	live    sync.WaitGroup
	elapsed time.Duration // set when live is over
}

// open makes the file before the load begins, so that an error can still stop the run.
func (w *watch) open(r *hostRun) error {
	if r.a.o.Watch == nil || w.file != nil {
		return nil
	}
	to, err := r.a.store.create(ownFile(r.group, 0))
	if err != nil {
		return fmt.Errorf("make a run file: %w", err)
	}
	h := result.Header{
		Schema: result.Schema, RunID: rand.Text(), KTVersion: r.a.o.Info.Version, StartedAt: r.a.o.Now().UTC(),
		Args: r.offer.Args, Tags: r.offer.Tags, Plan: r.offer.Plan, Part: &r.offer.Part,
		Environment: result.Environment{Host: host.ReadFacts(), Clock: host.ReadClock()},
	}
	f, err := result.NewRunFile(to, h)
	if err != nil {
		return errors.Join(err, to.Close())
	}
	w.id, w.file, w.stop = h.RunID, f, make(chan struct{})
	return nil
}

// begin starts watching at start.At, by the system's clock.
func (w *watch) begin(r *hostRun, start StartOrder) {
	if w.file == nil {
		return
	}
	file, stop := w.file, w.stop
	w.live.Go(func() {
		if !until(start.At, stop) {
			return
		}
		began := time.Now()
		agreed := start.Agreed
		agreed.Late = began.Sub(start.At)
		file.Write(result.Line{Start: &result.Start{At: began.UTC(), Agreed: &agreed}})
		since := func() time.Duration { return time.Since(began) }
		sample := r.a.o.Watch(since)
		for k := time.Duration(1); until(began.Add(k*time.Second), stop); k++ {
			file.Write(result.Line{Vitals: new(sample(since()))})
			if behind := since() / time.Second; behind > k {
				k = behind // skip the seconds in which the machine was asleep or too busy
			}
		}
		w.elapsed = since()
		file.Write(result.Line{Vitals: new(sample(w.elapsed))})
	})
}

// until waits until at, and reports false if stop was closed before.
func until(at time.Time, stop <-chan struct{}) bool {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-stop:
		return false
	}
}

// close stops watching and completes the file.
func (w *watch) close(ended string) error {
	if w.file == nil {
		return nil
	}
	close(w.stop)
	w.live.Wait()
	err := w.file.Close(result.Trailer{Ended: ended, ElapsedSeconds: w.elapsed.Seconds()})
	w.file = nil
	return err
}
