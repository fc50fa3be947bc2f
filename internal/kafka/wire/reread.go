package wire

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/kafka/reading"
	"github.com/kt-bench/kt/internal/stats"
)

// Reread is reading.State.Reread for readers of any engine. It needs no group and measures nothing.
func Reread(ctx context.Context, s *reading.State, group int, ends map[int32]int64, idle time.Duration) error {
	r := (&Consumer{s}).reader(&unmeasured{rec: stats.NewRecorder()}, func(partition int32) bool { _, ok := ends[partition]; return ok })
	r.group = group
	defer func() { _ = r.Close() }() // it ends goroutines, and has no error
	at := make(map[int32]int64)
	progress(&s.At.Groups[group], ends, at)
	for last := time.Now(); len(ends) > 0; {
		_, err := r.Read(ctx, math.MaxInt32, idle)
		moved := progress(&s.At.Groups[group], ends, at)
		switch {
		case len(ends) == 0:
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case moved:
			last = time.Now()
		case time.Since(last) >= idle:
			return nil
		}
	}
	return nil
}

// progress reports whether a position of the partitions in ends is no longer the one in at, which it updates. It takes
// partitions that are read to their end from ends. A position also moves over batches without records to count.
func progress(positions *kafka.GroupPositions, ends, at map[int32]int64) (moved bool) {
	for partition, end := range ends {
		next := positions.At(partition).Next.Load()
		if before, ok := at[partition]; !ok || next != before {
			at[partition], moved = next, true
		}
		if next >= end {
			delete(ends, partition)
		}
	}
	return moved
}

// unmeasured is a shard whose counts nobody looks at.
type unmeasured struct {
	mu  sync.Mutex // a reader records on several goroutines
	rec *stats.Recorder
}

// Record calls f with the recorder.
func (u *unmeasured) Record(f func(rec *stats.Recorder, phase int)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	f(u.rec, 0)
}

func (*unmeasured) Now() time.Duration { return 0 }
func (*unmeasured) Started() time.Time { return time.Time{} }
func (*unmeasured) Event(stats.Event)  {}
func (*unmeasured) Working()           {}
