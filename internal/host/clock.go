package host

import "time"

// Clock is the accuracy of this machine's clock. A time measured from a stamp of another
// machine can be wrong by the errors of both clocks.
type Clock struct {
	Synchronised bool  `json:"synchronised"`
	ErrorUS      int64 `json:"error_us"` // at most, by the kernel's own estimate; without a meaning when it is not synchronised
}

// Error is ErrorUS as a duration.
func (c Clock) Error() time.Duration { return time.Duration(c.ErrorUS) * time.Microsecond }
