package cluster

import (
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/result"
)

// watch writes the vitals of this machine during a run into a run file without a load.
type watch struct {
	file *result.RunFile
	stop chan struct{}
	live sync.WaitGroup

	began   time.Time
	elapsed time.Duration
}

// openWatch makes the file before the load begins, so that an error can still stop the run. It
// returns nil if the machine is not watched.
func (r *hostRun) openWatch() (*watch, error) {
	if r.a.o.Watch == nil {
		return nil, nil
	}
	w, err := r.a.store.create(ownFile(r.group, 0))
	if err != nil {
		return nil, fmt.Errorf("make a run file: %w", err)
	}
	h := result.Header{
		Schema: result.Schema, RunID: rand.Text(), KTVersion: r.a.o.Info.Version, StartedAt: r.a.o.Now().UTC(),
		Args: r.offer.Args, Tags: r.offer.Tags, Plan: r.offer.Plan, Part: &r.offer.Part,
		Environment: result.Environment{Host: host.ReadFacts(), Clock: host.ReadClock()},
	}
	f, err := result.NewRunFile(w, h)
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return &watch{file: f, stop: make(chan struct{})}, nil
}

// begin starts watching at start.At, by the system's clock.
func (w *watch) begin(r *hostRun, start StartOrder) {
	w.live.Go(func() {
		if !w.until(start.At) {
			return
		}
		w.began = time.Now()
		agreed := start.Agreed
		agreed.Late = w.began.Sub(start.At)
		w.file.Begin(result.Start{At: w.began.UTC(), Agreed: &agreed})
		since := func() time.Duration { return time.Since(w.began) }
		sample := r.a.o.Watch(since)
		for k := time.Duration(1); w.until(w.began.Add(k * time.Second)); k++ {
			w.take(r, sample(since()))
			if behind := since() / time.Second; behind > k {
				k = behind // skip the seconds in which the machine was asleep or too busy
			}
		}
		w.elapsed = since()
		w.take(r, sample(w.elapsed))
	})
}

func (w *watch) take(r *hostRun, v host.Vitals) {
	w.file.AddVitals(v)
	r.out.watched(v)
}

// until waits until at, and reports false if close was called before.
func (w *watch) until(at time.Time) bool {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-w.stop:
		return false
	}
}

// close stops watching and completes the file.
func (w *watch) close(ended string) error {
	close(w.stop)
	w.live.Wait()
	return w.file.Close(result.Trailer{Ended: ended, ElapsedSeconds: w.elapsed.Seconds()})
}
