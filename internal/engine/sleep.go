package engine

import "time"

// Sleeper sleeps for one sender, for 1 to 20 ms at a time. How much too long it sleeps is own send delay.
type Sleeper interface {
	Sleep(d time.Duration)
	Close() error
}

// plainSleeper sleeps as Go does: on Linux up to 1.1 ms too long.
type plainSleeper struct{}

func (plainSleeper) Sleep(d time.Duration) { time.Sleep(d) }
func (plainSleeper) Close() error          { return nil }
