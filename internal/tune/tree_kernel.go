package tune

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// kernel takes new values. A test has one of its own, for a folder does not behave as the kernel's files do.
type kernel interface {
	// Write gives a file of the kernel's, open for reading and writing, its value. It writes
	// once: the kernel takes each write as a value of its own.
	Write(f *os.File, value string) error
	// SetOpenFiles sets RLIMIT_NOFILE of the process that started at start, in ticks
	// since the machine did. -1 is unlimited.
	SetOpenFiles(pid int, start, soft, hard int64) error

	// Remount sets how the access times of a mount are kept, "noatime", "relatime" or
	// "strictatime", and leaves all its other options as they are. at is the mount point's
	// open folder.
	Remount(at *os.File, atime string) error
}

// systemKernel is the kernel that kt runs on. But for Linux it changes no process and no mount.
type systemKernel struct{}

func (systemKernel) Write(f *os.File, value string) error {
	text := []byte(value + "\n")
	n, err := writeOnce(f, text)
	if err == nil && n < len(text) {
		return fmt.Errorf("only %d of %d bytes were taken", n, len(text))
	}
	if err == nil {
		_ = f.Truncate(int64(len(text))) // of a copy of a machine; the kernel's own files have no length
	}
	return err
}

// writeOnce is not f.Write, which would write the rest of a value as a second one.
func writeOnce(f *os.File, b []byte) (int, error) {
	for {
		n, err := unix.Write(int(f.Fd()), b)
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// tookError tells that the kernel took a value, and made another of it.
type tookError struct{ path, wrote, now string }

func (e *tookError) Error() string {
	return fmt.Sprintf("%s: the kernel made %q of %q", e.path, e.now, e.wrote)
}
