package result

import (
	"errors"
	"os"
	"syscall"
)

// Claim marks an open run file as at work for this process: until it is closed, or the
// process ends in whatever way. A file system without locks (some network ones) has no
// claims, and nothing is lost by that. It waits for who has claimed the file, which of a
// new one is at most a look of Claimed.
func Claim(f *os.File) { _ = flock(f, syscall.LOCK_EX) }

// TryClaim does the same to what others may have claimed, a folder say, and reports whether
// nobody has.
func TryClaim(f *os.File) bool {
	return !errors.Is(flock(f, syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

// Release gives a claim up, and closes what only was claimed. Closing alone would not do: a
// process that is just being started shares the open file, and with it the claim.
func Release(f *os.File) {
	_ = flock(f, syscall.LOCK_UN)
	_ = f.Close() // nothing was written through it
}

// Claimed reports whether a process has claimed what f is, and lives.
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
