package result

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/kt-bench/kt/internal/codec"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/stats"
)

// ThinAfter is the length of a run from which on its file is thinned.
const ThinAfter = 10 * time.Minute

// thinned returns the length of the point in a thinned file that holds a second, by its age at the end of the run.
func thinned(age time.Duration) time.Duration {
	switch {
	case age < ThinAfter:
		return time.Second
	case age < 2*time.Hour:
		return 10 * time.Second
	}
	return time.Minute
}

// Judgement is the result of a run as it was judged by whole seconds, which a thinned file has no more.
type Judgement struct{ Result }

// MarshalJSON writes what a page holds of a run.
func (j Judgement) MarshalJSON() ([]byte, error) {
	doc, err := json.Marshal(j.Result)
	if err != nil {
		return nil, err
	}
	return json.Marshal(j.embed(doc))
}

// UnmarshalJSON reads it, and checks its numbers.
func (j *Judgement) UnmarshalJSON(text []byte) error {
	var e embedded
	err := json.Unmarshal(text, &e)
	if err == nil {
		j.Result, err = e.result()
	}
	return err
}

// Thin writes the file of a run that is over to w, with seconds that are older than ThinAfter added up to points, and with
// its result as it was judged.
func Thin(w io.Writer, from io.Reader, judged *Result) error {
	over := time.Duration(judged.ElapsedSeconds * float64(time.Second))
	to := &RunFile{w: withoutClose{w}, packer: codec.NewPacker(true)}
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
			length := thinned(over - l.Window.End)
			if number := (l.Window.End - 1) / length; length != point.length || number != point.number {
				flush()
				point.length, point.number = length, number
			}
			point.phases[stats.PhaseOf(l.Window.Warmup)].Add(l.Window)
		case l.Sample != nil:
			point.sample.Add(*l.Sample)
		default:
			flush()
			to.write(l)
		}
	}
	flush()
	to.write(Line{Result: &Judgement{*judged}})
	return to.err
}

// withoutClose is a file that another closes.
type withoutClose struct{ io.Writer }

func (withoutClose) Close() error { return nil }
