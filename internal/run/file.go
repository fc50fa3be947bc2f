package run

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// File is a run file that was created and is still empty. A nil File is none.
type File struct {
	path string
	file *os.File
	kept bool // something was written to it that someone may want
}

// CreateFile creates a run file. The error of one that exists is fs.ErrExist: it is never
// overwritten.
func CreateFile(path string) (*File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	result.Claim(f)
	return &File{path: path, file: f}, nil
}

// CreateFileIn creates a run file in a folder, which it makes if it has to, and names it
// after a time and what stem says.
func CreateFileIn(dir, stem string, at time.Time) (*File, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	stem = fmt.Sprintf("%s-%.220s", at.UTC().Format("20060102-150405"), stem) // a name has 255 at most
	for n := 1; ; n++ {
		path := filepath.Join(dir, stem+".ktr")
		if n > 1 {
			path = filepath.Join(dir, fmt.Sprintf("%s-%d.ktr", stem, n))
		}
		if f, err := CreateFile(path); !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// Path returns where the file is; "" when there is none.
func (f *File) Path() string {
	if f == nil {
		return ""
	}
	return f.path
}

// Fill writes all of the file and closes it.
func (f *File) Fill(from io.WriterTo) error {
	if f == nil {
		return nil
	}
	_, err := from.WriteTo(f.file)
	if err == nil {
		f.kept = true
		err = f.file.Close()
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", f.path, input.Cause(err))
	}
	return nil
}

// Discard removes the file, unless a run or a Fill has completed it.
func (f *File) Discard() {
	if f == nil || f.kept {
		return
	}
	_ = f.file.Close()    // it is empty,
	_ = os.Remove(f.path) // and nobody has seen it
	f.path = ""
}

const (
	maxStem = 220 // bytes: the name of a file has 255 at most, and a time, a number and an ending come on top
	maxWord = 32  // bytes of a word about the load, so that the topic stays readable
)

// Stem returns the part of a run file's name that names the load: what it did, on which topic, at which rate, with
// which acks (of a load that writes) or in which group, and its first tag. A long topic is cut, and never the rest.
//
//	produce-orders-50k-acks-all-nightly
func Stem(p *plan.Plan, acks string, tags []string) string {
	topic := p.Topic.Short() // with letters, digits, '.', '_' and '-' only: plan.CheckTopic
	if topic == "" {
		topic = "topics" // that match a pattern, which would be no name for a file
	}
	var words []string
	switch r, per := p.Load.Rate, p.Load.Rate.PerSecond; { // in few characters: 50k, 100MiB
	case r.IsUnlimited():
	case len(r.Stages) > 0:
		words = append(words, "stages")
	case r.Bytes:
		words = append(words, strings.TrimSuffix(r.String(), "/s"))
	case per >= 1e6:
		words = append(words, strconv.FormatFloat(per/1e6, 'g', 4, 64)+"M")
	case per >= 1e3:
		words = append(words, strconv.FormatFloat(per/1e3, 'g', 4, 64)+"k")
	default:
		words = append(words, strconv.FormatFloat(per, 'g', 4, 64))
	}
	switch {
	case p.Writes() && acks != "":
		words = append(words, "acks-"+acks)
	case !p.Writes() && p.Read.Group != "" && !strings.HasPrefix(p.Read.Group, plan.OwnGroup):
		words = append(words, "group-"+p.Read.Group)
	}
	if len(tags) > 0 {
		words = append(words, tags[0])
	}
	rest := ""
	for _, word := range words {
		rest += "-" + safe(word)
	}
	begin := string(p.Command) + "-"
	return begin + topic[:min(len(topic), maxStem-len(begin)-len(rest))] + rest
}

// safe returns a word that any file system takes in a name, and a shell without quotes.
func safe(word string) string {
	word = strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-' {
			return c
		}
		return '-'
	}, word)
	return word[:min(len(word), maxWord)]
}

// sink passes the windows of a run on: to the fold that makes the result, to the run file, and to the observers.
type sink struct {
	fold      *result.Fold
	file      *result.RunFile // nil: no run file
	failed    bool            // writing the run file has
	sampler   *host.Sampler
	status    *engine.Status
	notify    func(Notice)
	abort     func(why string)            // nil: a condition came true
	marks     *engine.Feed[time.Duration] // takes the end of each second; nil: nobody does
	observers Delivery
}

var _ engine.Sink = (*sink)(nil)

func (m *maker) newSink(observers []Observer) (s *sink, err error) {
	abort := func(why string) { // it is called once
		m.abortedBy = why
		close(m.aborted)
	}
	s = &sink{fold: result.NewFold(m.header), status: m.Status, notify: m.Notify, abort: abort}
	s.fold.AbortOn(m.AbortOn)
	if m.File != nil {
		if s.file, err = result.NewRunFile(m.File.file, m.header); err != nil {
			return nil, err
		}
	}
	s.observers = NewDelivery(observers)
	return s, nil
}

// Observe takes the windows of one second, and a sample of this host.
func (s *sink) Observe(windows []stats.Window) {
	sample := s.sampler.Sample(windows[0].End)
	for _, w := range windows {
		s.fold.AddWindow(w)
		if s.file != nil {
			s.file.AddWindow(w)
		}
	}
	s.fold.AddSample(sample)
	if s.file != nil {
		s.file.AddSample(sample)
		if err := s.file.Err(); err != nil && !s.failed {
			s.failed = true
			s.notify(Notice{Kind: FileFailed, Text: fmt.Sprintf("%v; the run goes on", err)})
		}
	}
	if s.marks != nil {
		s.marks.Send(windows[len(windows)-1].End)
	}
	if why := s.fold.Broken(); why != "" && s.abort != nil {
		s.abort(why)
		s.abort = nil
	}
	if len(s.observers) == 0 {
		return
	}
	second := Second{Windows: windows, Sample: sample, Snapshot: s.fold.Snapshot()}
	second.Snapshot.Live = result.Live{
		Stage:    stages[engine.Stage(s.status.Stage.Load())],
		Buffered: s.status.Buffered.Load(), InFlight: int(s.status.Requests.Load()),
	}
	s.observers.Send(second)
}

// stages are the engine's stages as a snapshot has them.
var stages = map[engine.Stage]result.Stage{
	engine.Opening: result.WarmingUp, engine.WarmingUp: result.WarmingUp, engine.Running: result.Running,
	engine.Draining: result.Draining, engine.Finished: result.Finished,
}
