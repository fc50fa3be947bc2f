package tui

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/input"
)

// Frames saves frames of the screen as text files in the current folder, where a user finds
// them to send them on.
type Frames struct {
	Name string // of the command
	Now  func() time.Time

	mu    sync.Mutex // guards saved
	saved []string   // full paths
}

// Save writes a frame to a new file, and returns a note for the footer.
func (f *Frames) Save(frame string) (note string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	stem, err := filepath.Abs(fmt.Sprintf("kt-%s-%s", f.Name, f.Now().UTC().Format("20060102-150405")))
	path := stem + ".txt"
	var file *os.File
	for n := 2; err == nil; n++ {
		if file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644); !errors.Is(err, fs.ErrExist) || n == 100 {
			break
		}
		path, err = fmt.Sprintf("%s-%d.txt", stem, n), nil
	}
	if err == nil {
		_, err = file.WriteString(frame + "\n")
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		return fmt.Sprintf("%s is not saved: %v", filepath.Base(path), input.Cause(err))
	}
	f.saved = append(f.saved, path)
	return "saved as " + filepath.Base(path)
}

// Saved returns the full paths of the files since the last call.
func (f *Frames) Saved() (paths []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	paths, f.saved = f.saved, nil
	return paths
}
