package wire

import (
	"context"
	"math"
	"time"

	"github.com/kt-bench/kt/internal/stats"
)

// reread reads partitions again from their positions to these ends, as reading.State.Reread says. It measures nothing.
func (d *Consumer) reread(ctx context.Context, ends map[int32]int64, idle time.Duration) error {
	r := d.reader(unmeasured{stats.NewRecorder()}, func(partition int32) bool { _, ok := ends[partition]; return ok })
	defer func() { _ = r.Close() }() // it ends goroutines, and has no error
	next := d.At.Groups[0].Next
	for last := time.Now(); len(ends) > 0; {
		n, err := r.Read(ctx, math.MaxInt32, idle)
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case n > 0:
			last = time.Now()
		case time.Since(last) >= idle:
			return nil
		}
		for partition, end := range ends {
			if next[partition].Load() >= end {
				delete(ends, partition)
			}
		}
	}
	return nil
}

// unmeasured is a shard whose counts nobody looks at.
type unmeasured struct{ rec *stats.Recorder }

func (u unmeasured) Record(f func(rec *stats.Recorder, phase int)) { f(u.rec, 0) }
func (unmeasured) Now() time.Duration                              { return 0 }
func (unmeasured) Started() time.Time                              { return time.Time{} }
func (unmeasured) Working()                                        {}
