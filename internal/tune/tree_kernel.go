package tune

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// kernel takes new values. A test's has ways of its own, since a folder does not
// behave as the kernel's files do.
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

// systemKernel is the kernel that kt runs on. Elsewhere than on Linux every change of
// a process or a mount is errors.ErrUnsupported.
type systemKernel struct{}

func (systemKernel) Write(f *os.File, value string) error {
	length := ordinary(f)
	text := []byte(value + "\n")
	n, err := writeOnce(f, text)
	switch {
	case err == nil && n < len(text):
		err = fmt.Errorf("only %d of %d bytes were taken", n, len(text))
	case err == nil && length > len(text):
		err = f.Truncate(int64(len(text)))
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

// ordinary is the length of a file that has one, as in a fixture. The kernel's
// files tell 0, or the size of a page, whatever is in them.
func ordinary(f *os.File) int {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 || info.Size() > mostText {
		return 0
	}
	content := make([]byte, info.Size()+1)
	n, err := f.ReadAt(content, 0)
	if !errors.Is(err, io.EOF) || int64(n) != info.Size() {
		return 0
	}
	return n
}

// tookError tells that the kernel took a value, and made another of it.
type tookError struct{ path, wrote, now string }

func (e *tookError) Error() string {
	return fmt.Sprintf("%s: the kernel made %q of %q", e.path, e.now, e.wrote)
}
