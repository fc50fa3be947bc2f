package host

import (
	"errors"
	"fmt"
	"io"
	"syscall"
)

// ReadRegular reads a file that somebody else may have chosen: only a regular one,
// up to a size in bytes, so that neither a pipe nor a device can hold kt up or fill
// its memory. owner is the user that it belongs to, -1 where the tree does not tell.
func (f FS) ReadRegular(name string, most int64) (content []byte, owner int, err error) {
	file, err := f.open(name)
	if err != nil {
		return nil, -1, err
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	if err != nil {
		return nil, -1, err
	}
	if !info.Mode().IsRegular() {
		return nil, -1, fmt.Errorf("%s: %w", name, errNotRegular)
	}
	owner = -1
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		owner = int(s.Uid)
	}
	content, err = io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(content)) > most {
		err = fmt.Errorf("%s: it is larger than %d bytes, which no file of this kind is", name, most)
	}
	return content, owner, err
}

var errNotRegular = errors.New("it is no regular file")
