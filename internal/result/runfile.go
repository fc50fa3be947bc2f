package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/kt-bench/kt/internal/codec"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/secret"
	"github.com/kt-bench/kt/internal/stats"
)

// RunFile writes a run file as the run goes on. Each line is one JSON object. The lines of a second are one member, written
// by one call, so that a killed run can be read up to its last second. After the first error it writes no more, and Close
// returns that error.
type RunFile struct {
	w      io.WriteCloser
	packer codec.Packer
	lines  []byte // that are not written
	err    error
}

// NewRunFile writes the header of a run file to w. Close closes w.
func NewRunFile(w io.WriteCloser, h Header) (*RunFile, error) {
	f := &RunFile{w: w, packer: codec.NewPacker(false)}
	f.write(Line{Header: &h})
	return f, f.err
}

// AddWindow writes a window.
func (f *RunFile) AddWindow(w stats.Window) { f.write(Line{Window: &w}) }

// AddSample writes a sample.
func (f *RunFile) AddSample(s host.Sample) { f.write(Line{Sample: &s}) }

// Begin writes the start of the load.
func (f *RunFile) Begin(s Start) { f.write(Line{Start: &s}) }

// AddVitals writes vitals, in a file that is of a watched machine and of no load.
func (f *RunFile) AddVitals(v host.Vitals) { f.write(Line{Vitals: &v}) }

// Err returns the first error.
func (f *RunFile) Err() error { return f.err }

// Close writes the trailer and closes the file.
func (f *RunFile) Close(t Trailer) error {
	f.write(Line{Trailer: &t})
	return errors.Join(f.err, f.w.Close())
}

// write writes a line, with the windows before it.
func (f *RunFile) write(l Line) {
	if f.err != nil {
		return
	}
	if l.Window == nil && l.Sample == nil {
		f.flush(measured)
	}
	b, err := json.Marshal(l)
	if err != nil {
		f.err = fmt.Errorf("write run file: %w", err)
		return
	}
	f.lines = append(f.lines, secret.ScrubJSON(string(b))+"\n"...)
	switch {
	case l.Window != nil: // its sample follows
	case l.Sample != nil || l.Vitals != nil:
		f.flush(measured)
	default:
		f.flush(0)
	}
}

// flush writes the lines as one member.
func (f *RunFile) flush(mark byte) {
	if len(f.lines) == 0 || f.err != nil {
		return
	}
	if _, err := f.w.Write(f.packer.Append(nil, f.lines, mark)); err != nil {
		f.err = fmt.Errorf("write run file: %w", err)
	}
	f.lines = f.lines[:0]
}

// Replay folds a run file as a live run is folded. It ignores an incomplete last member, as a kill
// leaves it. Anything else that is not a run file of this schema is an error.
//
// limits are judged instead of those of the run; none: those of the run.
func Replay(r io.Reader, limits ...string) (*Fold, error) { return play(r, limits, nil) }

// Play is Replay that calls each after every second of the run, with its windows, until that returns false.
func Play(r io.Reader, each func(f *Fold, windows []stats.Window) (more bool)) (*Fold, error) {
	return play(r, nil, each)
}

func play(r io.Reader, limits []string, each func(f *Fold, windows []stats.Window) (more bool)) (*Fold, error) {
	var f *Fold
	var second []stats.Window
	for l, err := range NewLines(r, 0).All() {
		if err != nil {
			return nil, err
		}
		if h := l.Header; h != nil {
			if h.Part != nil && h.Part.Process == 0 {
				return nil, &BadLine{1, errors.New("it holds how busy a machine was, and no load: give it to kt collect with the run files of the load")}
			}
			if len(limits) > 0 {
				h.Limits = limits
			}
			f = NewFold(*h)
			f.anew = len(limits) > 0
			continue
		}
		f.AddLine(&l)
		if l.Window != nil && each != nil {
			second = append(second, *l.Window)
		} else if l.Sample != nil {
			if len(second) > 0 && !each(f, second) {
				return f, nil
			}
			second = nil
		}
	}
	if f == nil {
		return nil, errors.New("it is empty, so no run file and no page of kt: name the .ktr file of a run")
	}
	return f, nil
}
