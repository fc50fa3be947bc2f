package engine

import (
	"sync"
	"sync/atomic"
)

// atOnce calls do for each of all, and returns when the last call has.
func atOnce[T any](all []T, do func(T)) {
	var calls sync.WaitGroup
	for _, one := range all {
		calls.Go(func() { do(one) })
	}
	calls.Wait()
}

// mostOpening is the number of clients that open at once: each waits for answers of brokers, which it must not flood.
const mostOpening = 16

// openAll calls open for each shard, in order, and several at a time. After the first error, which it returns, it begins no other,
// and abort ends those that go on.
func openAll(shards []*Shard, abort func(), open func(*Shard) error) (first error) {
	var begun atomic.Int64
	var fail sync.Once
	atOnce(shards[:min(len(shards), mostOpening)], func(*Shard) {
		for i := begun.Add(1); i <= int64(len(shards)); i = begun.Add(1) {
			if err := open(shards[i-1]); err != nil {
				fail.Do(func() { first = err })
				begun.Store(int64(len(shards)))
				abort()
			}
		}
	})
	return first
}

// done returns a channel that is closed when wait returns.
func done(wait func()) <-chan struct{} {
	ch := make(chan struct{})
	go func() {
		defer close(ch)
		wait()
	}()
	return ch
}
