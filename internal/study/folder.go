package study

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/merge"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/secret"
	"github.com/kt-bench/kt/internal/suggest"
)

// Folder is where a study is kept: what it is in study.json, what happened in log.jsonl, and a run
// file for each load of each run in runs. Each part of a study that was begun has such a folder below parts.
type Folder struct {
	ID    string // of a part STUDY/PART
	Study *Study

	root, dir string // of the whole study, and of this part of it
	log       []entry
	bad       error                 // of damaged lines
	end       string                // of a last line that may be cut off
	read      map[int][]LoadFigures // by the number of the turn
	embedded  bool                  // of runs that were read
	done      []Turn                // that are made, so that they need not be decided again
}

// The names in the folder.
const (
	studyFile = "study.json"
	logFile   = "log.jsonl"
	runsDir   = "runs"
	partsDir  = "parts"
)

// ErrBusy is the error of a study that another kt works on.
var ErrBusy = errors.New("another kt works on it")

// IsFolder reports whether a path is the folder of a study.
func IsFolder(path string) bool {
	_, err := os.Stat(filepath.Join(path, studyFile))
	return err == nil
}

func newFolder(dir, id string, s *Study) (*Folder, error) {
	whole, part, isPart := strings.Cut(id, "/")
	f := &Folder{ID: id, Study: s, root: filepath.Join(dir, whole), read: make(map[int][]LoadFigures)}
	if f.dir = f.root; isPart {
		f.dir = filepath.Join(f.root, partsDir, part)
	}
	if err := cmp.Or(plan.CheckName(whole), plan.CheckName(cmp.Or(part, whole))); err != nil {
		return nil, fmt.Errorf("study %q: %w", id, err)
	}
	return f, nil
}

// Create makes the folder of a new study below dir.
func Create(dir string, s *Study, id string) (*Folder, error) {
	f, err := newFolder(dir, id, s)
	if err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err = cmp.Or(err, os.MkdirAll(filepath.Join(f.dir, runsDir), 0o755)); err != nil {
		return nil, err
	}
	return f, input.ReplaceText(filepath.Join(f.dir, studyFile), 0o600, append(text, '\n'))
}

// Keep notes a run that is made by itself as a study, so that Restore deletes its topics if this process is killed. note adds topics
// that it has made, and remove removes the folder when the run is over.
func Keep(dir, id string, l Load, topics []string) (note func(made []string) error, remove func() error, err error) {
	f, err := Create(dir, &Study{Name: "run", About: l.About, Loads: []Load{l}, Repeats: 1, Order: Listed}, id)
	if err != nil {
		return nil, nil, err
	}
	release, err := f.hold()
	if err != nil {
		return nil, nil, err
	}
	note = func(made []string) error { return f.made(Turn{Number: 1}, made) }
	return note, func() error { defer release(); return os.RemoveAll(f.root) }, note(topics)
}

// made notes topics of a run, so that they are deleted.
func (f *Folder) made(t Turn, topics []string) error {
	if len(topics) == 0 {
		return nil
	}
	return f.note(entry{What: Begun, Turn: t.Number, Cell: t.Cell.Index, Topic: strings.Join(topics, ",")})
}

// Open reads the folder of a study, or of a part as ID/PART.
func Open(dir, id string) (*Folder, error) {
	f, err := newFolder(dir, id, new(Study))
	if err != nil {
		return nil, err
	}
	name := studyFile
	text, err := input.Read(filepath.Join(f.dir, name), input.Settings)
	if errors.Is(err, fs.ErrNotExist) {
		ids, _ := IDs(filepath.Dir(f.dir)) // a folder that cannot be read has none
		if whole, part := filepath.Base(f.root), filepath.Base(f.dir); IsFolder(f.root) {
			return nil, fmt.Errorf("study %s: no part %q was begun%s", whole, part, suggest.Hint(part, ids, fmt.Sprintf("; there is %q", ids)))
		}
		return nil, fmt.Errorf("study %s: there is no such study%s", id, suggest.Hint(filepath.Base(f.dir), ids, "; kt study list has those that were made"))
	}
	if err == nil {
		err = json.Unmarshal(text, f.Study)
	}
	if err == nil {
		err = f.Study.Check()
	}
	if err == nil {
		name, err = logFile, f.readLog()
	}
	if err != nil {
		return nil, fmt.Errorf("study %s: %s: %w", id, filepath.Join(f.dir, name), input.Cause(err))
	}
	return f, nil
}

// begun returns the parts that were begun, in their order; of a study without parts itself.
func (f *Folder) begun() (parts []*Folder, err error) {
	for _, s := range f.Study.Parts {
		p, bad := Open(filepath.Dir(f.dir), f.ID+"/"+s.Name)
		if bad == nil && len(p.Study.Parts) == 0 {
			parts = append(parts, p)
		} else if IsFolder(filepath.Join(f.dir, partsDir, s.Name)) {
			err = errors.Join(err, bad) // the others can be put back
		}
	}
	if len(f.Study.Parts) == 0 {
		parts = []*Folder{f}
	}
	return parts, err
}

// enter returns a part, and begins it if it was not: with the least of the rates that the parts before have found.
func (f *Folder) enter(part *Study) (*Folder, error) {
	before, err := f.begun()
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(before, func(p *Folder) bool { return p.Study.Name == part.Name }); i >= 0 {
		return before[i], nil
	}
	peak, none := math.Inf(1), []string{}
	for i := 0; i < len(before) && part.asksFor(peakGiven); i++ {
		switch d, err := before[i].Document(); {
		case err != nil:
			return nil, err
		case d.FindDoc != nil && d.Peak.RecordsPerSecond == 0:
			none = append(none, before[i].Study.Name)
		case d.FindDoc != nil:
			peak = min(peak, d.Peak.RecordsPerSecond)
		}
	}
	at, err := part.AtPeak(peak)
	if err != nil {
		return nil, fmt.Errorf("study %s: %w", f.ID, err)
	}
	if len(none) > 0 {
		at.About += fmt.Sprintf(" (No rate held in %s, so the peak is of the others.)", strings.Join(none, ", "))
	}
	return Create(filepath.Dir(f.dir), at, f.ID+"/"+part.Name)
}

// IDs returns the studies below a folder, the newest first.
func IDs(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	made := make(map[string]string) // when, by the second with which an ID begins, and by the file
	for _, e := range entries {
		if info, err := os.Stat(filepath.Join(dir, e.Name(), studyFile)); err == nil {
			second := e.Name()[:min(len(e.Name()), len("20060102-150405"))]
			made[e.Name()] = second + info.ModTime().UTC().Format("20060102150405.000000000")
		}
	}
	return slices.SortedFunc(maps.Keys(made), func(a, b string) int { return cmp.Or(cmp.Compare(made[b], made[a]), cmp.Compare(a, b)) }), nil
}

func (f *Folder) path(t Turn, l Load) string {
	name := strings.TrimSuffix(fmt.Sprintf("%04d-%s", t.Number, l.Name), "-")
	return filepath.Join(f.dir, runsDir, name+".ktr")
}

// figures returns the figures of the loads of a turn that was made. It reads each run file once.
func (f *Folder) figures(t Turn) (all []LoadFigures, err error) {
	if known := f.read[t.Number]; known != nil {
		return known, nil
	}
	slo := mapped(f.Study.SLO(), metric.Expr.String)
	for _, l := range f.Study.Loads {
		path := f.path(t, l)
		res, err := merge.ReadFile(path, slo...)
		if err != nil {
			return nil, fmt.Errorf("study %s: %w", f.ID, err)
		}
		each := eachOf(l.Name, strings.TrimPrefix(path, f.root+string(filepath.Separator)), &res, f.Study.Metrics())
		one := &each[0]
		f.embedded = f.embedded || res.Embedded
		for _, turn := range f.read {
			if i := slices.IndexFunc(turn, func(o LoadFigures) bool { return one.isOf(&o) }); i >= 0 {
				return nil, fmt.Errorf("study %s: %s is the same run as %s: put the file of its own run back", f.ID, one.File, turn[i].File)
			}
		}
		all = append(all, each...)
	}
	f.read[t.Number] = all
	return all, nil
}

// Status is how far a study is.
type Status struct {
	Done, Wanted int  // runs, as far as they are known: of parts, those that were begun
	Open         bool // a run is left to make, a topic to delete, or a change to put back
}

// Status returns how far the study is. An error is of files that cannot be read.
func (f *Folder) Status() (s Status, err error) {
	parts, err := f.begun()
	s.Open = len(parts) < len(f.Study.All())
	for _, p := range parts {
		d, bad := p.known()
		done, wanted := d.count()
		s.Done, s.Wanted, err = s.Done+done, s.Wanted+wanted, errors.Join(err, bad, p.bad)
		s.Open = s.Open || bad == nil && !d.Over || len(d.state.topics) > 0 || d.state.changed != nil
	}
	return s, err
}

// Files returns the run files of the first load that count: all, or those of a cell that is written as "partitions=4,acks=all".
func (f *Folder) Files(cell string) (files []string, err error) {
	if len(f.Study.Parts) > 0 {
		return nil, fmt.Errorf("study %s: it has parts: name one of them, as %s/%s", f.ID, f.ID, f.Study.Parts[0].Name)
	}
	want, names := make(map[string]string), f.Study.factorNames()
	for part := range strings.FieldsFuncSeq(cell, func(r rune) bool { return r == ',' }) {
		name, value, ok := strings.Cut(part, "=")
		if want[name] = value; !ok || !slices.Contains(names, name) {
			return nil, fmt.Errorf("study %s: cell %q: write FACTOR=VALUE, as in partitions=4,acks=all; its factors are %s", f.ID, cell, strings.Join(names, ", "))
		}
	}
	d, err := f.known()
	for _, t := range d.turns {
		if d.state.counts(t) && d.state.isDone(t) && fits(t.Cell.Values(), want) {
			files = append(files, f.path(t, f.Study.Loads[0]))
		}
	}
	if len(files) == 0 && err == nil {
		err = fmt.Errorf("study %s: it has no finished run of %s", f.ID, strings.TrimSpace("the cell "+cell))
	}
	return files, err
}

type entry struct {
	At      time.Time              `json:"at"`
	What    Event                  `json:"what"`
	Turn    int                    `json:"turn,omitempty"`
	Cell    int                    `json:"cell"` // of Skipped, and of Begun and Preparing: where the topic is
	Topic   string                 `json:"topic,omitempty"`
	Reason  string                 `json:"reason,omitempty"`  // of Skipped
	Host    bool                   `json:"host,omitempty"`    // of changed: hosts are, by kt tune's journal
	Hosts   []string               `json:"hosts,omitempty"`   // their agents; none: the host of this kt
	Command string                 `json:"command,omitempty"` // of changed: it puts back what a command of the user's did
	Brokers []result.BrokerSetting `json:"brokers,omitempty"` // of changed: what they had before
}

// Event is what happened.
type Event string

// The events.
const (
	Entered   Event = "entered"  // a part, or the study if it has none: nothing was done yet
	Begun     Event = "began"    // a run that will make a topic
	Finished  Event = "done"     // a run: its files are complete and its topic is gone
	Skipped   Event = "left_out" // a cell that cannot be made
	Preparing Event = "prepared" // a topic, before the runs
	removed   Event = "removed"  // a prepared topic
	changed   Event = "changed"  // brokers or hosts, which are about to be
	restored  Event = "restored" // all of them
)

// readLog reads the log. The last line that a kt wrote may be cut off. Another line that is no entry is damaged, and may be of a change.
func (f *Folder) readLog() error {
	text, err := os.ReadFile(filepath.Join(f.dir, logFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f.log, f.bad, f.end = nil, nil, "\n"
	for line := range bytes.Lines(text) { // one with the settings of many brokers is long
		var e entry
		if err := json.Unmarshal(bytes.TrimSpace(line), &e); err == nil {
			f.log = append(f.log, e)
		} else if err.Error() != "unexpected end of JSON input" { // as of a line that is cut off, or empty
			f.bad = fmt.Errorf("study %s: %s: a line is damaged (%w): what it has changed is not put back", f.ID, filepath.Join(f.dir, logFile), err)
		}
	}
	return nil
}

// hold keeps others from the study, whichever part of it they mean.
func (f *Folder) hold() (release func(), err error) {
	file, err := os.OpenFile(filepath.Join(f.root, studyFile), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close() // nothing was written
		return nil, fmt.Errorf("study %s: %w", f.ID, ErrBusy)
	}
	return func() { _ = file.Close() }, f.readLog()
}

func (f *Folder) note(e entry) error {
	e.At = time.Now().UTC()
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(f.dir, logFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(f.end + secret.ScrubJSON(string(line)) + "\n")
	if err, f.end = errors.Join(err, file.Sync(), file.Close()), "\n"; err != nil { // which may have written a half
		return fmt.Errorf("write %s: %w", file.Name(), input.Cause(err))
	}
	f.log, f.end = append(f.log, e), ""
	return nil
}

// state is what the log tells of a part.
type state struct {
	done    map[int]bool   // the numbers of runs
	begun   map[int]int    // the cells of runs, by their numbers
	leftOut map[int]string // why cells were left out, by their index
	topics  []entry        // those of topics that are still there: each was noted before it was made
	changed *entry         // of brokers and hosts, with what was there before; nil: they are not
	hosts   *entry         // the first change of hosts: later ones are of the same, so that one that is gone is missed; nil: none yet
}

func (f *Folder) state() *state {
	s := &state{done: make(map[int]bool), begun: make(map[int]int), leftOut: make(map[int]string)}
	for _, e := range f.log {
		switch e.What {
		case Begun, Preparing:
			s.topics, s.begun[e.Turn] = append(s.topics, e), e.Cell
		case Finished, removed:
			s.done[e.Turn] = true // what is removed is of no run
			s.topics = slices.DeleteFunc(s.topics, func(t entry) bool { return t.Topic == e.Topic || t.What == Begun && t.Turn == e.Turn })
		case Skipped:
			s.leftOut[e.Cell] = e.Reason
		case changed:
			if s.changed = &e; e.Host && s.hosts == nil {
				s.hosts = &e
			}
		case restored:
			s.changed = nil
		}
	}
	return s
}

// isDone reports whether a run is complete, or left out with its cell.
func (s *state) isDone(t Turn) bool { return s.done[t.Number] || s.leftOut[t.Cell.Index] != "" }

// counts reports whether a run is one of those that a study is about.
func (s *state) counts(t Turn) bool { return t.Repeat > 0 && s.leftOut[t.Cell.Index] == "" }
