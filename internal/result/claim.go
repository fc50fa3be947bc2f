package result

import (
	"errors"
	"os"
	"syscall"
)

// Claim marks an open run file, or a folder of them, as at work for this process: until
// it is closed, or the process ends in whatever way. A file system without locks (some
// network ones) has no claims, and nothing is lost by that.
func Claim(f *os.File) {
	for {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}

// Claimed tells whether a process has claimed what f is, and lives.
func Claimed(f *os.File) bool {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if err == nil {
		_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) // closing it does the same, only later
	}
	return errors.Is(err, syscall.EWOULDBLOCK)
}
