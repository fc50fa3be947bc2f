package cmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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
	file, err := f.create()
	if err != nil {
		return fmt.Sprintf("not saved: %v", input.Cause(err))
	}
	for _, line := range strings.Split(frame, "\n") {
		_, werr := io.WriteString(file, strings.TrimRight(line, " ")+"\n")
		err = errors.Join(err, werr)
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Sprintf("%s is not whole: %v", file.Name(), input.Cause(err))
	}
	path := file.Name()
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	f.saved = append(f.saved, path)
	return "saved as " + file.Name()
}

// create creates a file with a name that no other has.
func (f *frames) create() (*os.File, error) {
	stem := fmt.Sprintf("kt-%s-%s", f.name, f.env.Now().Format("20060102-150405"))
	for n := 1; ; n++ {
		name := stem + ".txt"
		if n > 1 {
			name = fmt.Sprintf("%s-%d.txt", stem, n)
		}
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if !errors.Is(err, fs.ErrExist) {
			return file, err
		}
	}
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
