package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/kt-bench/kt/internal/codec"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/secret"
	"github.com/kt-bench/kt/internal/stats"
)

// RunFile writes a run file as the run goes on. Each line is one JSON object. The lines of a second are one member, written
// by one call, so that a killed run can be read up to its last second. After the first error it writes no more, and Close
// returns that error.
type RunFile struct {
	w      io.Writer
	closer io.Closer
	packer codec.Packer
	lines  []byte // that are not written
	err    error
}

// NewRunFile writes the header of a run file to w. Close closes w.
func NewRunFile(w io.WriteCloser, h Header) (*RunFile, error) {
	f := &RunFile{w: w, closer: w, packer: codec.NewPacker(false)}
	f.Write(Line{Header: &h})
	return f, f.err
}

// AddWindow writes a window.
func (f *RunFile) AddWindow(w stats.Window) { f.Write(Line{Window: &w}) }

// AddSample writes a sample.
func (f *RunFile) AddSample(s host.Sample) { f.Write(Line{Sample: &s}) }

// Err returns the first error.
func (f *RunFile) Err() error { return f.err }

// Close writes the trailer and closes the file.
func (f *RunFile) Close(t Trailer) error {
	f.Write(Line{Trailer: &t})
	return errors.Join(f.err, f.closer.Close())
}

// Write writes a line, with the windows before it.
func (f *RunFile) Write(l Line) {
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
// leaves it. Anything else that is not a run file of this schema is an error. each is called after every second of the run,
// with its windows, until it returns false; nil: nothing is called. limits are judged instead of those of the run; none: those of the run.
func Replay(r io.Reader, each func(f *Fold, windows []stats.Window) (more bool), limits ...string) (*Fold, error) {
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

// Claim locks an open run file for this process, until the file is closed or the process ends.
// It waits for another lock; of a new file, only Claimed can hold one, and briefly. On a file
// system without locks, as some network ones are, it does nothing.
func Claim(f *os.File) { _ = flock(f, syscall.LOCK_EX) }

// TryClaim is Claim for a file or folder that another process may have claimed. It does not wait, and reports whether no other process has.
func TryClaim(f *os.File) bool {
	return !errors.Is(flock(f, syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

// Release unlocks and closes a file. Closing alone is not enough: a child process that is just being
// started shares the open file, and with it the lock.
func Release(f *os.File) {
	_ = flock(f, syscall.LOCK_UN)
	_ = f.Close() // nothing was written through it
}

// Claimed reports whether a living process has claimed the file.
func Claimed(f *os.File) bool {
	err := flock(f, syscall.LOCK_SH|syscall.LOCK_NB)
	if err == nil {
		_ = flock(f, syscall.LOCK_UN) // closing it does the same, only later
	}
	return errors.Is(err, syscall.EWOULDBLOCK)
}

func flock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// ThinAfter is the length of a run from which on its file is thinned.
const ThinAfter = 10 * time.Minute

// Thin writes the file of a run that is over to w, with seconds that are older than ThinAfter added up to points, and with
// its result as it was judged.
func Thin(w io.Writer, from io.Reader, judged *Result) error {
	over := time.Duration(judged.ElapsedSeconds * float64(time.Second))
	to := &RunFile{w: w, packer: codec.NewPacker(true)}
	var point struct {
		length, number time.Duration
		phases         stats.Phases
		sample         host.Sample
	}
	flush := func() {
		for _, phase := range []int{stats.Warmup, stats.Measured} {
			if w := &point.phases[phase]; !w.IsZero() {
				to.AddWindow(*w)
			}
		}
		if point.sample.Interval > 0 {
			to.AddSample(point.sample)
		}
		point.phases, point.sample = stats.Phases{}, host.Sample{}
	}
	for l, err := range NewLines(from, 0).All() {
		switch {
		case err != nil:
			return fmt.Errorf("thin run file: %w", err)
		case l.Window != nil:
			length := time.Minute // of the point that holds the second, by its age at the end of the run
			if age := over - l.Window.End; age < ThinAfter {
				length = time.Second
			} else if age < 2*time.Hour {
				length = 10 * time.Second
			}
			if number := (l.Window.End - 1) / length; length != point.length || number != point.number {
				flush()
				point.length, point.number = length, number
			}
			point.phases[stats.PhaseOf(l.Window.Warmup)].Add(l.Window)
		case l.Sample != nil:
			point.sample.Add(*l.Sample)
		default:
			flush()
			to.Write(l)
		}
	}
	flush()
	to.Write(Line{Result: &Judgement{Result: *judged, SendingSeconds: judged.SendingSeconds, Heat: judged.Heat}})
	return to.err
}

// MisfitError is the error of a run that does not fit the system, or the files beside it. Nothing was done, and trying again does
// not help: the plan, the system or a file has to change.
type MisfitError struct{ Err error }

// Misfit returns a MisfitError.
func Misfit(format string, args ...any) *MisfitError {
	return &MisfitError{fmt.Errorf(format, args...)}
}

// About returns the error as one of the value of a flag.
func (e *MisfitError) About(flag string) *MisfitError {
	return &MisfitError{plan.About(flag, e.Err)}
}

func (e *MisfitError) Error() string { return e.Err.Error() }

func (e *MisfitError) Unwrap() error { return e.Err }
