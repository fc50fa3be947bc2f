package input

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Limits of files that are read into memory as a whole.
const (
	MiB      = 1 << 20
	Settings = MiB // of properties, configurations and profiles, which are written by hand
)

// Patience is how long a pipe may take until somebody has written to it.
const Patience = 3 * time.Second

// ErrTooLong is in the error of a file over the limit.
var ErrTooLong = errors.New("is more than a file of its kind has")

// Read returns the content of a file of at most limit bytes.
func Read(path string, limit int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	return ReadAll(f, limit)
}

// ReadAll returns the rest of a file that Open opened, or of the unpacked content of one.
func ReadAll(f io.Reader, limit int64) ([]byte, error) {
	tooLong := fmt.Errorf("it is over %d MiB long, which %w", limit/MiB, ErrTooLong)
	var b bytes.Buffer
	if file, ok := f.(*os.File); ok {
		info, err := file.Stat()
		if err != nil {
			return nil, Cause(err)
		}
		if info.Size() > limit {
			return nil, tooLong
		}
		b.Grow(int(info.Size()) + bytes.MinRead) // of a pipe it is 0
	}
	if _, err := b.ReadFrom(io.LimitReader(f, limit+1)); err != nil {
		return nil, Cause(err)
	}
	if int64(b.Len()) > limit {
		return nil, tooLong
	}
	return b.Bytes(), nil
}

// Open opens a regular file, or a pipe once somebody has written to it.
func Open(path string) (*os.File, error) { return open(path, Patience) }

func open(path string, patience time.Duration) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, Cause(err)
	}
	switch mode := info.Mode(); {
	case mode.IsRegular(), mode&fs.ModeNamedPipe != 0, path == os.DevNull:
	case mode.IsDir():
		return nil, errors.New("it is a directory: name a file")
	case mode&fs.ModeSocket != 0:
		return nil, errors.New("it is a socket: name a file")
	default:
		return nil, errors.New("it is a device: name a file, or a pipe")
	}
	// Whatever has taken its place since: opening does not wait.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, Cause(err)
	}
	if info.Mode()&fs.ModeNamedPipe == 0 {
		return f, nil
	}
	if err := await(f, patience); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// await waits for the first bytes in a pipe.
func await(f *os.File, patience time.Duration) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return Cause(err)
	}
	const pause = 10 * time.Millisecond
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		ready := []unix.PollFd{{Events: unix.POLLIN}}
		var failed error
		err := raw.Control(func(fd uintptr) {
			ready[0].Fd = int32(fd)
			_, failed = unix.Poll(ready, int(pause.Milliseconds()))
		})
		switch {
		case err != nil:
			return Cause(err)
		case ready[0].Revents&unix.POLLIN != 0:
			return nil
		case failed != nil && !errors.Is(failed, unix.EINTR):
			return failed
		case ready[0].Revents != 0: // nobody has it open to write, or no more: poll does not wait then
			time.Sleep(pause)
		}
	}
	return fmt.Errorf("nobody has written to this pipe for %s: name a file, or write to it", patience)
}

// Cause returns the error below the operation and the path, which the caller names.
func Cause(err error) error {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		return p.Err
	case errors.As(err, &l):
		return l.Err
	}
	return err
}
