package study

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
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
	"github.com/kt-bench/kt/internal/secret"
	"github.com/kt-bench/kt/internal/suggest"
)

// Folder is where a study is kept: what it is in study.json, what happened in log.jsonl, and a run
// file for each load of each run in runs. A part of a study is a Folder too, in the same folder.
type Folder struct {
	ID    string
	Study *Study
	dir   string
	part  string // "": the whole study
	*journal
	read     map[int][]LoadFigures // by the number of the turn
	embedded bool                  // of runs that were read
}

// The names in the folder.
const (
	studyFile = "study.json"
	logFile   = "log.jsonl"
	runsDir   = "runs"
)

// ErrBusy is the error of a study that another kt works on.
var ErrBusy = errors.New("another kt works on it")

// IsFolder reports whether a path is the folder of a study.
func IsFolder(path string) bool {
	_, err := os.Stat(filepath.Join(path, studyFile))
	return err == nil
}

// Create makes the folder of a new study below dir.
func Create(dir string, s *Study, id string) (*Folder, error) {
	f := &Folder{ID: id, Study: s, dir: filepath.Join(dir, id), journal: new(journal), read: make(map[int][]LoadFigures)}
	if err := plan.CheckName(id); err != nil {
		return nil, fmt.Errorf("study %q: %w", id, err)
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Join(f.dir, runsDir), 0o755)
	}
	if err != nil {
		return nil, err
	}
	return f, input.ReplaceText(filepath.Join(f.dir, studyFile), 0o600, append(text, '\n'))
}

// Open reads the folder of a study, or of a part as ID/PART.
func Open(dir, id string) (*Folder, error) {
	id, part, isPart := strings.Cut(id, "/")
	if err := plan.CheckName(id); err != nil {
		return nil, fmt.Errorf("study %q: %w", id, err)
	}
	f := &Folder{ID: id, dir: filepath.Join(dir, id), Study: new(Study), journal: new(journal), read: make(map[int][]LoadFigures)}
	name := studyFile
	text, err := input.Read(filepath.Join(f.dir, name), input.Settings)
	if errors.Is(err, fs.ErrNotExist) {
		ids, _ := IDs(dir) // a folder that cannot be read has none
		return nil, fmt.Errorf("study %s: there is no such study%s", id, suggest.Hint(id, ids, "; kt study list has those that were made"))
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
	if isPart {
		return f.openPart(part)
	}
	return f, nil
}

func (f *Folder) openPart(name string) (*Folder, error) {
	parts, err := f.begun()
	var names []string
	for _, p := range parts {
		if p.part == name {
			return p, err
		}
		names = append(names, p.part)
	}
	return nil, cmp.Or(err, fmt.Errorf("study %s: no part %q was begun; there is %q", f.ID, name, names))
}

// begun returns the parts that were begun, in their order; of a study without parts itself.
func (f *Folder) begun() (parts []*Folder, err error) {
	if len(f.Study.Parts) == 0 {
		return []*Folder{f}, nil
	}
	for _, s := range f.Study.Parts {
		p := &Folder{ID: f.ID + "/" + s.Name, dir: f.dir, part: s.Name, journal: f.journal, read: make(map[int][]LoadFigures)}
		if begun := p.state().entered; begun != nil {
			at, err := s.AtPeak(begun.Peak)
			if err != nil {
				return nil, err
			}
			one := *at
			one.About += begun.Reason
			p.Study, parts = &one, append(parts, p)
		}
	}
	return parts, nil
}

// enter returns a part, and begins it if it was not. The only part of a study without parts is itself.
func (f *Folder) enter(part *Study) (*Folder, error) {
	if part == f.Study {
		return f, nil
	}
	if p, err := f.openPart(part.Name); err == nil {
		return p, nil
	}
	e := entry{What: Entered, Part: part.Name}
	if part.asksFor(peakGiven) { // the least of the rates that the parts before have found
		var none []string
		before, err := f.begun()
		for _, p := range before {
			if p.Study.Find == nil {
				continue
			}
			d, err := p.Document()
			switch {
			case err != nil:
				return nil, err
			case d.Peak.RecordsPerSecond == 0:
				none = append(none, p.part)
			case e.Peak == 0 || d.Peak.RecordsPerSecond < e.Peak:
				e.Peak = d.Peak.RecordsPerSecond
			}
		}
		if e.Peak == 0 {
			err = cmp.Or(err, fmt.Errorf("study %s: a part needs $%s, and no search before it has found a rate that holds: make the study again with --set %s=RATE", f.ID, peakGiven, peakGiven))
		}
		if err != nil {
			return nil, err
		}
		if len(none) > 0 {
			e.Reason = fmt.Sprintf(" (No rate held in %s, so the peak is of the others.)", strings.Join(none, ", "))
		}
	}
	if err := cmp.Or(os.MkdirAll(filepath.Join(f.dir, runsDir, part.Name), 0o755), f.note(e)); err != nil {
		return nil, err
	}
	return f.openPart(part.Name)
}

// IDs returns the studies below a folder, the newest first.
func IDs(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	made := make(map[string]time.Time)
	var ids []string
	for _, e := range entries {
		if info, err := os.Stat(filepath.Join(dir, e.Name(), studyFile)); err == nil {
			ids, made[e.Name()] = append(ids, e.Name()), info.ModTime()
		}
	}
	second := func(id string) string { return id[:min(len(id), len("20060102-150405"))] } // IDs begin with it
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Or(-cmp.Compare(second(a), second(b)), made[b].Compare(made[a]), cmp.Compare(a, b))
	})
	return ids, nil
}

func (f *Folder) path(t Turn, l Load) string {
	name := strings.TrimSuffix(fmt.Sprintf("%04d-%s", t.Number, l.Name), "-")
	return filepath.Join(f.dir, runsDir, f.part, name+".ktr")
}

// figures returns the figures of the loads of a turn that was made. It reads each run file once.
func (f *Folder) figures(t Turn) (all []LoadFigures, err error) {
	if known := f.read[t.Number]; known != nil {
		return known, nil
	}
	var slo []string
	if f.Study.Find != nil {
		for _, e := range f.Study.Find.SLO {
			slo = append(slo, e.String())
		}
	}
	for _, l := range f.Study.Loads {
		path := f.path(t, l)
		res, err := merge.ReadFile(path, slo...)
		if err != nil {
			return nil, fmt.Errorf("study %s: %w", f.ID, err)
		}
		one := figuresOf(l.Name, strings.TrimPrefix(path, f.dir+string(filepath.Separator)), &res, f.Study.Metrics())
		f.embedded = f.embedded || res.Embedded
		for _, turn := range f.read {
			if i := slices.IndexFunc(turn, func(o LoadFigures) bool { return one.isOf(&o) }); i >= 0 {
				return nil, fmt.Errorf("study %s: %s is the same run as %s: put the file of its own run back", f.ID, one.File, turn[i].File)
			}
		}
		all = append(all, one)
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
		s.Done, s.Wanted, err = s.Done+done, s.Wanted+wanted, errors.Join(err, bad)
		s.Open = s.Open || bad == nil && !d.Over || len(d.state.topics) > 0 || d.state.brokers != nil || d.state.host
	}
	return s, errors.Join(err, f.bad)
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
		if d.state.counts(t) && d.state.isDone(t) && fits(t.Cell.values(), want) {
			files = append(files, f.path(t, f.Study.Loads[0]))
		}
	}
	if len(files) == 0 && err == nil {
		err = fmt.Errorf("study %s: it has no finished run of %s", f.ID, strings.TrimSpace("the cell "+cell))
	}
	return files, err
}

type journal struct {
	log  []entry
	bad  error    // of damaged lines
	file *os.File // held by whoever makes runs; nil: nobody does here
}

type entry struct {
	At      time.Time              `json:"at"`
	What    Event                  `json:"what"`
	Part    string                 `json:"part,omitempty"` // "": the study has no parts
	Turn    int                    `json:"turn,omitempty"`
	Cell    int                    `json:"cell"` // of Skipped, and of Begun and Preparing: where the topic is
	Topic   string                 `json:"topic,omitempty"`
	Reason  string                 `json:"reason,omitempty"`  // of Skipped, and of Entered: what is added to what the part is about
	Peak    float64                `json:"peak,omitempty"`    // of Entered, in records a second; 0: the part needs none
	Host    bool                   `json:"host,omitempty"`    // of changed: hosts are, by kt tune's journal
	Hosts   []string               `json:"hosts,omitempty"`   // their agents; none: the host of this kt
	Brokers []result.BrokerSetting `json:"brokers,omitempty"` // of changed: what they had before
}

// Event is what happened.
type Event string

// The events.
const (
	Entered   Event = "entered"  // a part, or the study if it has none
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
	f.log, f.bad = nil, nil
	for line := range bytes.Lines(text) { // one with the settings of many brokers is long
		var e entry
		if err := json.Unmarshal(line, &e); err == nil {
			f.log = append(f.log, e)
		} else if err.Error() != "unexpected end of JSON input" { // as of a line that is cut off, or empty
			f.bad = fmt.Errorf("study %s: %s: a line is damaged (%w): what it has changed is not put back", f.ID, filepath.Join(f.dir, logFile), err)
		}
	}
	return nil
}

// hold opens the log for writing, and keeps others from it.
func (f *Folder) hold() (release func(), err error) {
	file, err := os.OpenFile(filepath.Join(f.dir, logFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close() // nothing was written
		return nil, fmt.Errorf("study %s: %w", f.ID, ErrBusy)
	}
	f.file = file
	_, err = file.WriteString("\n") // ends a line that was cut off
	return func() { _ = file.Close() }, errors.Join(err, f.readLog())
}

func (f *Folder) note(e entry) error {
	e.At, e.Part = time.Now().UTC(), cmp.Or(e.Part, f.part)
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if _, err := f.file.WriteString(secret.ScrubJSON(string(line)) + "\n"); err != nil {
		return fmt.Errorf("write %s: %w", f.file.Name(), input.Cause(err))
	}
	f.log = append(f.log, e)
	return f.file.Sync()
}

// state is what the log tells of a part.
type state struct {
	entered *entry                 // nil: it was not begun
	done    map[int]bool           // the numbers of runs
	leftOut map[int]string         // why cells were left out, by their index
	topics  []entry                // those of topics that are still there: each was noted before it was made
	brokers []result.BrokerSetting // what brokers had before they were changed; nil: they are not
	host    bool                   // hosts are changed
	hosts   *entry                 // the first change of hosts: later ones are of the same, so that one that is gone is missed; nil: none yet
}

func (f *Folder) state() *state {
	s := &state{done: make(map[int]bool), leftOut: make(map[int]string)}
	for _, e := range f.log {
		if e.Part != f.part {
			continue
		}
		switch e.What {
		case Entered:
			s.entered = &e
		case Begun, Preparing:
			s.topics = append(s.topics, e)
		case Finished, removed:
			s.done[e.Turn] = true // what is removed is of no run
			s.topics = slices.DeleteFunc(s.topics, func(t entry) bool { return t.Topic == e.Topic })
		case Skipped:
			s.leftOut[e.Cell] = e.Reason
		case changed:
			if e.Host && s.hosts == nil {
				s.hosts = &e
			}
			if s.host = s.host || e.Host; s.brokers == nil {
				s.brokers = e.Brokers
			}
		case restored:
			s.brokers, s.host = nil, false
		}
	}
	return s
}

// isDone reports whether a run is complete, or left out with its cell.
func (s *state) isDone(t Turn) bool { return s.done[t.Number] || s.leftOut[t.Cell.Index] != "" }

// counts reports whether a run is one of those that a study is about.
func (s *state) counts(t Turn) bool { return t.Repeat > 0 && s.leftOut[t.Cell.Index] == "" }
