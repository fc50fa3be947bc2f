package host

import "time"

// Clock is how well this machine's clock is known to tell the time: whatever is
// measured from a moment that another machine has stamped can be wrong by both
// machines' errors.
type Clock struct {
	Synchronised bool  `json:"synchronised"`
	ErrorUS      int64 `json:"error_us"` // at most, by the kernel's own estimate; without a meaning when it is not synchronised
}

// Error is ErrorUS as a duration.
func (c Clock) Error() time.Duration { return time.Duration(c.ErrorUS) * time.Microsecond }
