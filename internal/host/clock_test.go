package host

import (
	"runtime"
	"testing"
	"time"
)

func TestTheClockOfThisMachine(t *testing.T) {
	c := ReadClock()
	switch {
	case c == nil && runtime.GOOS == "linux":
		t.Skip("the kernel does not tell, as in some containers")
	case c != nil && runtime.GOOS != "linux":
		t.Errorf("ReadClock() = %+v on %s, which it does not ask", *c, runtime.GOOS)
	case c != nil && (c.ErrorUS < 0 || c.Error() != time.Duration(c.ErrorUS)*time.Microsecond):
		t.Errorf("ReadClock() = %+v, an error of %v", *c, c.Error())
	}
}
