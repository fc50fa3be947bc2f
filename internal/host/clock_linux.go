package host

import "syscall"

// staUnsync is STA_UNSYNC of adjtimex(2): nobody keeps the clock in step.
const staUnsync = 0x40

// ReadClock asks the kernel about its clock, which any user may; nil when it does
// not tell.
func ReadClock() *Clock {
	var t syscall.Timex
	if _, err := syscall.Adjtimex(&t); err != nil {
		return nil
	}
	return &Clock{Synchronised: t.Status&staUnsync == 0, ErrorUS: int64(t.Maxerror)}
}
