package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/kt-bench/kt/internal/input"
)

// frames saves frames of the screen as text files in the current folder, where a user finds
// them to send them on.
type frames struct {
	env  *Env
	name string // of the command

	mu    sync.Mutex // guards saved
	saved []string   // full paths
}

// save writes a frame to a new file, and returns a note for the footer.
func (f *frames) save(frame string) (note string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	path, err := filepath.Abs(fmt.Sprintf("kt-%s-%s", f.name, f.env.Now().UTC().Format("20060102-150405")))
	if err == nil {
		path, err = writeNew(path, ".txt", frame+"\n")
	}
	if err != nil {
		return fmt.Sprintf("%s is not saved: %v", filepath.Base(path), input.Cause(err))
	}
	f.saved = append(f.saved, path)
	return "saved as " + filepath.Base(path)
}

// writeNew writes a new file and returns its path: stem and ext, with a number between them
// where a file of that name exists.
func writeNew(stem, ext, text string) (path string, err error) {
	path = stem + ext
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	for n := 2; errors.Is(err, fs.ErrExist) && n < 100; n++ {
		path = fmt.Sprintf("%s-%d%s", stem, n, ext)
		file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	}
	if err != nil {
		return path, err
	}
	_, err = file.WriteString(text)
	return path, errors.Join(err, file.Close())
}

// tell says which files there are.
func (f *frames) tell() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, path := range f.saved {
		f.env.say("screen saved as %s", path)
	}
	f.saved = nil
}
