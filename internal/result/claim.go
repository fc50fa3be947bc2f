package result

import (
	"errors"
	"os"
	"syscall"
)

// Claim locks an open run file for this process, until the file is closed or the process ends.
// It waits for another lock; of a new file, only Claimed can hold one, and briefly. On a file
// system without locks, as some network ones are, it does nothing.
func Claim(f *os.File) { _ = flock(f, syscall.LOCK_EX) }

// TryClaim is Claim for a file or folder that another process may have claimed. It does not wait, and
// reports whether no other process has.
func TryClaim(f *os.File) bool {
	return !errors.Is(flock(f, syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

// Release unlocks and closes a file. Closing alone is not enough: a child process that is just being
// started shares the open file, and with it the lock.
func Release(f *os.File) {
	_ = flock(f, syscall.LOCK_UN)
	_ = f.Close() // nothing was written through it
}

// Claimed reports whether a living process has claimed the file.
func Claimed(f *os.File) bool {
	err := flock(f, syscall.LOCK_SH|syscall.LOCK_NB)
	if err == nil {
		_ = flock(f, syscall.LOCK_UN) // closing it does the same, only later
	}
	return errors.Is(err, syscall.EWOULDBLOCK)
}

func flock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
