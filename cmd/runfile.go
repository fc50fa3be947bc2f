package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
)

// noRunFile is the value of --result that means: no run file.
const noRunFile = "none"

// runFile is the file that the run is written to as it goes.
type runFile struct {
	path string
	file *os.File // nil: no run file
	used bool     // something was written that someone may want
}

// runStem is what the default name of a run file tells of the load.
func runStem(p *plan.Plan) string {
	topic := p.Topic.Name // with letters, digits, '.', '_' and '-' only: plan.CheckTopic
	if topic == "" {
		topic = "topics" // that match --include, which would be no name for a file
	}
	return fmt.Sprintf("%s-%s", p.Command, topic)
}

// openRunFile creates the run file before anything else is, so that a run is
// never made that cannot be kept. It never overwrites one. path is --result; without
// that the file is named after the time and stem.
func openRunFile(env *Env, path, stem string) (*runFile, error) {
	if path == noRunFile {
		return &runFile{}, nil
	}
	if path == "" {
		f, err := defaultRunFile(env, stem)
		if err != nil {
			env.say("no run file is kept: %v; name one with --result FILE", err)
			return &runFile{}, nil
		}
		return f, nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("--result %s: it exists, and kt does not overwrite results; name another file or remove it", path)
	}
	if err != nil {
		return nil, fmt.Errorf("--result %s: %w", path, cause(err))
	}
	return newRunFile(path, f), nil
}

func newRunFile(path string, f *os.File) *runFile {
	result.Claim(f)
	return &runFile{path: path, file: f}
}

// defaultRunFile is a new file in the state folder.
func defaultRunFile(env *Env, stem string) (*runFile, error) {
	dir := env.stateDir()
	if dir == "" {
		return nil, errors.New("there is no home folder")
	}
	dir = filepath.Join(dir, "runs")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	stem = fmt.Sprintf("%s-%.220s", env.Now().UTC().Format("20060102-150405"), stem) // a name has 255 at most
	for n := 1; ; n++ {
		path := filepath.Join(dir, stem+".ktr")
		if n > 1 {
			path = filepath.Join(dir, fmt.Sprintf("%s-%d.ktr", stem, n))
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err == nil {
			return newRunFile(path, f), nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
}

// discardUnused removes the file when no run came to be.
func (f *runFile) discardUnused() {
	if f.file == nil || f.used {
		return
	}
	_ = f.file.Close()    // it is empty,
	_ = os.Remove(f.path) // and nobody has seen it
}

// cause is what went wrong, without the operation and the path that the caller names,
// or others of kt's own making.
func cause(err error) error {
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
