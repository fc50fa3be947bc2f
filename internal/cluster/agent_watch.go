package cluster

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/result"
)

// watch writes the vitals of this machine during a run into a run file without a load. The zero
// value writes nothing.
type watch struct {
	id      string // of the run file; "": there is none
	problem string // the error of the file, or ""
	file    *result.RunFile
	stop    chan struct{}
	live    sync.WaitGroup
	elapsed time.Duration // set when live is over
}

// open makes the file before the load begins, so that an error can still stop the run. It does
// nothing if the machine is not watched.
func (w *watch) open(r *hostRun) error {
	if r.a.o.Watch == nil || w.file != nil {
		return nil
	}
	to, err := r.a.store.create(ownFile(r.group, 0))
	if err != nil {
		return fmt.Errorf("make a run file: %w", err)
	}
	if f, ok := to.(*os.File); ok {
		result.Claim(f) // it grows
		to = claimed{f}
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

// claimed is a file that is claimed until it is closed.
type claimed struct{ *os.File }

var _ io.WriteCloser = claimed{}

// Close releases and closes the file.
func (c claimed) Close() error {
	result.Release(c.File) // a file that was written by single calls has nothing more to write
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
		file.Begin(result.Start{At: began.UTC(), Agreed: &agreed})
		since := func() time.Duration { return time.Since(began) }
		sample := r.a.o.Watch(since)
		for k := time.Duration(1); until(began.Add(k*time.Second), stop); k++ {
			file.AddVitals(sample(since()))
			if behind := since() / time.Second; behind > k {
				k = behind // skip the seconds in which the machine was asleep or too busy
			}
		}
		w.elapsed = since()
		file.AddVitals(sample(w.elapsed))
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
