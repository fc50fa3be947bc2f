package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/stats"
)

// RunFile writes a run as it goes: one JSON object a line, each written whole, so
// that a killed run can be read up to its last second. The first error is kept
// and ends the writing; Close returns it.
type RunFile struct {
	w   io.WriteCloser
	err error
}

// NewRunFile starts a run file on w, which it closes in the end.
func NewRunFile(w io.WriteCloser, h Header) (*RunFile, error) {
	f := &RunFile{w: w}
	f.write(Line{Header: &h})
	return f, f.err
}

// AddWindow writes a window.
func (f *RunFile) AddWindow(w stats.Window) { f.write(Line{Window: &w}) }

// AddSample writes a sample.
func (f *RunFile) AddSample(s host.Sample) { f.write(Line{Sample: &s}) }

// Begin writes when the load began.
func (f *RunFile) Begin(s Start) { f.write(Line{Start: &s}) }

// AddVitals writes how busy the machine was: of a file that tells of a machine that
// was watched, and not of a load.
func (f *RunFile) AddVitals(v host.Vitals) { f.write(Line{Vitals: &v}) }

// Err is why nothing more is written, nil while all is well.
func (f *RunFile) Err() error { return f.err }

// Close writes the trailer and closes the file.
func (f *RunFile) Close(t Trailer) error {
	f.write(Line{Trailer: &t})
	return errors.Join(f.err, f.w.Close())
}

func (f *RunFile) write(l Line) {
	if f.err != nil {
		return
	}
	b, err := json.Marshal(l)
	if err == nil {
		_, err = f.w.Write(append(b, '\n'))
	}
	if err != nil {
		f.err = fmt.Errorf("write run file: %w", err)
	}
}

// Replay reads a run file into the same fold that a live run feeds. An incomplete
// last line, as a kill leaves it, is passed over; anything else that is not a run
// file of this schema is an error.
func Replay(r io.Reader) (*Fold, error) {
	lines := NewLines(r)
	var f *Fold
	for {
		l, err := lines.Next()
		switch {
		case errors.Is(err, io.EOF) && f == nil:
			return nil, errors.New("it is empty, not a run file")
		case errors.Is(err, io.EOF):
			return f, nil
		case err != nil:
			return nil, err
		}
		if f, err = replayLine(f, l); err != nil {
			return nil, lines.wrap(err)
		}
	}
}

// replayLine adds one line to the fold, which it makes of the first.
func replayLine(f *Fold, l Line) (*Fold, error) {
	switch {
	case f == nil && l.Header == nil:
		return nil, errors.New("it is not the header of a run file")
	case f == nil && l.Header.Schema != Schema:
		return nil, CheckSchema(l.Header.Schema)
	case f == nil && l.Header.Part != nil && l.Header.Part.Process == 0:
		return nil, errors.New("it holds how busy a machine was, and no load: give it to kt collect with the run files of the load")
	case f == nil:
		f = NewFold(*l.Header)
	case l.Header != nil:
		return nil, errors.New("it is a second header: each run has a file of its own")
	case l.Window != nil:
		f.AddWindow(*l.Window)
	case l.Sample != nil:
		f.AddSample(*l.Sample)
	case l.Start != nil:
		f.Begin(*l.Start)
	case l.Trailer != nil:
		f.Finish(*l.Trailer)
	}
	return f, nil
}
