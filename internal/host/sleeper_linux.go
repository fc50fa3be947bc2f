package host

import (
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Sleeper sleeps for one goroutine, more precisely than time.Sleep: that rounds up to whole milliseconds of epoll
// (golang/go#53824), so a sleep of 1 ms takes up to 2 ms. Its timer is a file, and epoll returns when it expires. While all
// threads of Go are busy, Go looks at epoll every 10 ms only, but at its own timers at once: the deadline of the file is one,
// and whichever comes first ends the sleep.
type Sleeper struct {
	timer *os.File
	conn  syscall.RawConn // nil: there is no timer, and time.Sleep does it
	begin func(fd uintptr) bool

	length time.Duration // of the sleep
	armed  bool          // it has begun
	err    error
}

// NewSleeper returns a sleeper. Close frees its timer. Without a timer, as when there are too many open files, it sleeps as
// time.Sleep does: the own send delay of the run shows that, so it is no error.
func NewSleeper() *Sleeper {
	s := &Sleeper{}
	s.begin = s.arm // once, because it allocates
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return s
	}
	s.timer = os.NewFile(uintptr(fd), "timer")
	if s.conn, err = s.timer.SyscallConn(); err != nil {
		s.conn = nil
	}
	return s
}

// Sleep waits for d.
func (s *Sleeper) Sleep(d time.Duration) {
	if d > 0 && !s.wait(d) {
		time.Sleep(d)
	}
}

// wait waits for d with the timer. It reports whether it could.
func (s *Sleeper) wait(d time.Duration) bool {
	if s.conn == nil || s.timer.SetReadDeadline(time.Now().Add(d)) != nil {
		return false
	}
	s.length, s.armed, s.err = d, false, nil
	err := s.conn.Read(s.begin)
	return s.err == nil && (err == nil || errors.Is(err, os.ErrDeadlineExceeded))
}

// arm starts the timer when it is first called, and reports whether the sleep is over. Nobody reads how often the timer
// expired: starting it forgets that.
func (s *Sleeper) arm(fd uintptr) (over bool) {
	if s.armed {
		return true
	}
	s.armed = true
	once := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(s.length))}
	s.err = unix.TimerfdSettime(int(fd), 0, &once, nil)
	return s.err != nil
}

// Close frees the timer.
func (s *Sleeper) Close() error {
	if s.timer == nil {
		return nil
	}
	return s.timer.Close()
}
