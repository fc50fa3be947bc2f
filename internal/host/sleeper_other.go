//go:build !linux

package host

import "time"

// Sleeper sleeps for one goroutine, as time.Sleep does: only Linux has a timer that is more precise.
type Sleeper struct{}

// NewSleeper returns a sleeper.
func NewSleeper() *Sleeper { return &Sleeper{} }

// Sleep waits for d.
func (*Sleeper) Sleep(d time.Duration) { time.Sleep(d) }

// Close does nothing: there is no timer to free.
func (*Sleeper) Close() error { return nil }
