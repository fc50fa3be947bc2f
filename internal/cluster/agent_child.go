package cluster

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// child is one process that makes a load.
type child struct {
	run    *hostRun
	job    ProcessJob
	orders chan ToProcess // has room for every order, so that giving one never blocks
	kill   func()         // nil until it is spawned; guarded by run.mu
}

// orderKinds is the most orders that a process gets: job, start, stop, abort and finish, each
// once.
const orderKinds = 5

// live runs the process from its start to its end.
func (c *child) live() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	p, err := c.run.a.o.Spawn(ctx)
	if err != nil {
		c.happen(evFailed, partStatus{Text: fmt.Sprintf("start the process: %v", err)})
		c.happen(evExited, partStatus{})
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
	c.happen(evExited, partStatus{Text: text})
}

// happen handles an event of the process, and logs its failure.
func (c *child) happen(kind eventKind, report partStatus) {
	r, n := c.run, c.job.Part.Process
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.state.Parts[n-1].State
	_ = r.happened(event{Kind: kind, Process: n, Report: report}) // no error of an order
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
		if err != nil {
			return err
		}
		c.hear(m)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read what the process says: %w", err)
	}
	return nil
}

func (c *child) hear(m *FromProcess) {
	switch {
	case m.Ready != nil:
		c.happen(evReady, partStatus{RunID: *m.Ready})
	case m.Began != nil:
		c.happen(evBegan, partStatus{})
	case m.Load != nil:
		c.run.mu.Lock()
		c.run.state.Parts[c.job.Part.Process-1].Load = *m.Load
		c.run.mu.Unlock()
		if m.Load.Draining {
			c.happen(evDraining, partStatus{})
		}
	case m.Ended != nil:
		c.happen(evEnded, partStatus{Ended: &Ended{m.Ended.Code, clean(m.Ended.Text, maxText)}})
	case m.Failed != nil:
		c.happen(evFailed, partStatus{Text: *m.Failed})
	}
}

// decodeFromProcess decodes and checks one line of a process.
func decodeFromProcess(line []byte) (*FromProcess, error) {
	m := new(FromProcess)
	if err := decodeStrict(line, m); err != nil {
		return nil, fmt.Errorf("the process sent an invalid message: %w", err)
	}
	set := 0
	for _, is := range []bool{m.Ready != nil, m.Began != nil, m.Load != nil, m.Ended != nil, m.Failed != nil} {
		if is {
			set++
		}
	}
	var err error
	switch {
	case set != 1:
		err = fmt.Errorf("%d of its fields are set, and one must be", set)
	case m.Ready != nil:
		err = checkName(*m.Ready)
	case m.Began != nil && !plausible(*m.Began):
		err = errors.New("it began at no time")
	case m.Load != nil && (m.Load.Buffered < 0 || m.Load.InFlight < 0):
		err = errors.New("its load is out of range")
	}
	if err != nil {
		return nil, fmt.Errorf("the process sent an invalid message: %w", err)
	}
	return m, nil
}
