package input

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace writes a file as a whole, in the place of an older one if there is one. A reader finds the old file or the new
// one, never a part; an error leaves the old one.
func Replace(path string, perm fs.FileMode, write func(w io.Writer) error) error {
	fresh, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(fresh.Name()) }() // after a success it has the name of the file
	err = write(fresh)
	if err = errors.Join(err, fresh.Chmod(perm), fresh.Sync(), fresh.Close()); err != nil {
		return err
	}
	return os.Rename(fresh.Name(), path)
}

// ReplaceText is Replace by a text.
func ReplaceText(path string, perm fs.FileMode, text []byte) error {
	return Replace(path, perm, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}
