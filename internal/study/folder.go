package study

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/plan"
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
	read map[int][]LoadFigures // by the number of the turn
}

// journal is the log of a study.
type journal struct {
	log  []entry
	bad  error    // of damaged lines
	file *os.File // held by whoever makes runs; nil: nobody does here
}

// entry is one line of the log.
type entry struct {
	At     time.Time `json:"at"`
	What   what      `json:"what"`
	Part   string    `json:"part,omitempty"` // "": the study has no parts
	Turn   int       `json:"turn,omitempty"`
	Cell   *int      `json:"cell,omitempty"` // of without, and of began and made: where the topic is
	Topic  string    `json:"topic,omitempty"`
	Reason string    `json:"reason,omitempty"` // of without, and of entered: what is added to what the part is about
	Peak   float64   `json:"peak,omitempty"`   // of entered, in records a second; 0: the part needs none

	Host    bool            `json:"host,omitempty"`    // of changed: hosts are, by kt tune's journal
	Hosts   []string        `json:"hosts,omitempty"`   // their agents; none: the host of this kt
	Brokers []BrokerSetting `json:"brokers,omitempty"` // of changed: what they had before
}

// what is what happened.
type what string

const (
	entered what = "entered"  // a part
	began   what = "began"    // a run that will make a topic
	done    what = "done"     // its run files are complete and its topic is gone
	without what = "left_out" // a cell cannot be made
	made    what = "prepared" // a prepared topic
	removed what = "removed"  // a prepared topic

	changed  what = "changed"  // brokers or hosts, which are about to be
	restored what = "restored" // all of them
)

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
	f := &Folder{ID: id, Study: s, dir: filepath.Join(dir, id), journal: new(journal)}
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
	f := &Folder{ID: id, dir: filepath.Join(dir, id), Study: new(Study), journal: new(journal)}
	name := studyFile
	text, err := input.Read(filepath.Join(f.dir, name), input.Settings)
	if errors.Is(err, fs.ErrNotExist) {
		ids, _ := IDs(dir) // a folder that cannot be read has none
		hint := "; there is none yet: make one with kt study run"
		if len(ids) > 0 {
			hint = cmp.Or(didYouMean(id, ids), "; the newest is "+ids[0])
		}
		return nil, fmt.Errorf("study %s: there is no such study%s", id, hint)
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

// didYouMean is a hint at the one of some names that is meant; "": none is like it.
func didYouMean(name string, names []string) string {
	if n := suggest.Nearest(name, names); n != "" {
		return "; did you mean " + n + "?"
	}
	return ""
}

// openPart returns a part that was begun.
func (f *Folder) openPart(name string) (*Folder, error) {
	var names []string
	parts, err := f.begun()
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
		i := slices.IndexFunc(f.log, func(e entry) bool { return e.What == entered && e.Part == s.Name })
		if i < 0 {
			continue
		}
		at, err := s.AtPeak(f.log[i].Peak)
		if err != nil {
			return nil, err
		}
		one := *at
		one.About += f.log[i].Reason
		parts = append(parts, &Folder{ID: f.ID + "/" + s.Name, Study: &one, dir: f.dir, part: s.Name, journal: f.journal})
	}
	return parts, nil
}

// enter returns a part, and begins it if it was not. A part that needs a peak takes the least that the parts before it have
// found. The only part of a study without parts is itself.
func (f *Folder) enter(part *Study) (*Folder, error) {
	if part == f.Study {
		return f, nil
	}
	if p, err := f.openPart(part.Name); err == nil {
		return p, nil
	}
	e := entry{What: entered, Part: part.Name}
	if part.needsPeak() {
		peak, none, err := f.leastPeak()
		if err != nil {
			return nil, err
		}
		if e.Peak = peak; len(none) > 0 {
			e.Reason = fmt.Sprintf(" (No rate held in %s, so the peak is of the others.)", strings.Join(none, ", "))
		}
	}
	if err := cmp.Or(os.MkdirAll(filepath.Join(f.dir, runsDir, part.Name), 0o755), f.note(e)); err != nil {
		return nil, err
	}
	return f.openPart(part.Name)
}

// leastPeak returns the least of the rates that were found so far, in records a second, and the searches that found none.
func (f *Folder) leastPeak() (least float64, none []string, err error) {
	parts, err := f.begun()
	for _, p := range parts {
		if p.Study.Find == nil {
			continue
		}
		d, err := p.Document()
		if err != nil {
			return 0, nil, err
		}
		switch peak := d.Peak.RecordsPerSecond; {
		case peak == 0:
			none = append(none, p.part)
		case least == 0 || peak < least:
			least = peak
		}
	}
	if least == 0 && err == nil {
		err = fmt.Errorf("study %s: a part needs $%s, and no search before it has found a rate that holds: make the study again with --set %s=RATE", f.ID, peakGiven, peakGiven)
	}
	return least, none, err
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

// note writes a line of the log to the disk.
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

// all returns the entries of the log that are of some kinds.
func (f *Folder) all(kinds ...what) iter.Seq[entry] {
	return func(yield func(entry) bool) {
		for _, e := range f.log {
			if e.Part == f.part && slices.Contains(kinds, e.What) && !yield(e) {
				return
			}
		}
	}
}

// isDone reports whether a run is complete, or left out with its cell.
func (f *Folder) isDone(t Turn) bool {
	for e := range f.all(done) {
		if e.Turn == t.Number {
			return true
		}
	}
	return f.leftOut(t.Cell) != ""
}

// counts reports whether a run is one of those that a study is about.
func (f *Folder) counts(t Turn) bool { return t.Repeat > 0 && f.leftOut(t.Cell) == "" }

// leftOut returns why a cell was left out; "": it was not.
func (f *Folder) leftOut(c Cell) string {
	for e := range f.all(without) {
		if e.Cell != nil && *e.Cell == c.Index {
			return e.Reason
		}
	}
	return ""
}

// topics returns the topics that are still there by the log: each was noted before it was made.
func (f *Folder) topics() (left []string) {
	for e := range f.all(began, made, done, removed) {
		if e.What == began || e.What == made {
			left = append(left, e.Topic)
		} else {
			left = slices.DeleteFunc(left, func(t string) bool { return t == e.Topic })
		}
	}
	return left
}

// path returns the run file of a load of a turn.
func (f *Folder) path(t Turn, l Load) string {
	name := fmt.Sprintf("%04d", t.Number)
	if l.Name != "" {
		name += "-" + l.Name
	}
	return filepath.Join(f.dir, runsDir, f.part, name+".ktr")
}

// figures returns the figures of the loads of a turn that was made. It reads each run file once.
func (f *Folder) figures(t Turn) ([]LoadFigures, error) {
	if known := f.read[t.Number]; known != nil {
		return known, nil
	}
	var all []LoadFigures
	for _, l := range f.Study.Loads {
		one, err := f.readRun(t, l)
		if err != nil {
			return nil, err
		}
		for _, turn := range f.read {
			if i := slices.IndexFunc(turn, func(o LoadFigures) bool { return one.isOf(&o) }); i >= 0 {
				return nil, fmt.Errorf("study %s: %s is the same run as %s: put the file of its own run back", f.ID, one.File, turn[i].File)
			}
		}
		all = append(all, one)
	}
	if f.read == nil {
		f.read = make(map[int][]LoadFigures)
	}
	f.read[t.Number] = all
	return all, nil
}

// readRun returns the figures of a run file.
func (f *Folder) readRun(t Turn, l Load) (LoadFigures, error) {
	path := f.path(t, l)
	file, err := merge.Open(path)
	if err != nil {
		return LoadFigures{}, fmt.Errorf("study %s: %w", f.ID, err)
	}
	defer file.Close()
	res, err := merge.Read(file, file.Size)
	if err != nil {
		return LoadFigures{}, fmt.Errorf("%s: %w", path, err)
	}
	name, err := filepath.Rel(f.dir, path)
	return figuresOf(l.Name, name, &res), err
}

// IsOpen reports whether a run is left to make, a topic to delete, or a change to put back. An error is of files that cannot be read.
func (f *Folder) IsOpen() (open bool, err error) {
	parts, err := f.begun()
	open = len(parts) < len(f.Study.All())
	for _, p := range parts {
		d, bad := p.known()
		brokers, host := p.changed()
		open = open || bad == nil && !d.Over || len(p.topics()) > 0 || brokers != nil || host
		err = errors.Join(err, bad)
	}
	return open, errors.Join(err, f.bad)
}

// Count returns how many runs are done, and how many the study wants as far as it is known: of parts, those that were begun.
func (f *Folder) Count() (done, wanted int, err error) {
	parts, err := f.begun()
	for _, p := range parts {
		d, bad := p.known()
		err = errors.Join(err, bad)
		for _, t := range d.turns {
			if p.counts(t) {
				if wanted++; p.isDone(t) {
					done++
				}
			}
		}
	}
	return done, wanted, err
}

// Files returns the run files of the runs that count, of the first load: all, or those of a cell that
// is written as "partitions=4,acks=all".
func (f *Folder) Files(cell string) (files []string, err error) {
	if len(f.Study.Parts) > 0 {
		return nil, fmt.Errorf("study %s: it has parts: name one of them, as %s/%s", f.ID, f.ID, f.Study.Parts[0].Name)
	}
	want, err := f.Study.parseCell(cell)
	if err != nil {
		return nil, fmt.Errorf("study %s: %w", f.ID, err)
	}
	d, err := f.known()
	for _, t := range d.turns {
		if f.counts(t) && f.isDone(t) && fits(t.Cell.values(), want) {
			files = append(files, f.path(t, f.Study.Loads[0]))
		}
	}
	if len(files) == 0 && err == nil {
		err = fmt.Errorf("study %s: it has no finished run of %s", f.ID, strings.TrimSpace("the cell "+cell))
	}
	return files, err
}

// parseCell reads the values of a cell.
func (s *Study) parseCell(text string) (map[string]string, error) {
	values := make(map[string]string)
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(part, "=")
		switch names := s.factorNames(); {
		case part == "":
		case !ok:
			return nil, fmt.Errorf("cell %q: write FACTOR=VALUE, as in partitions=4,acks=all", text)
		case !slices.Contains(names, name):
			return nil, fmt.Errorf("cell %q: there is no factor %s%s", text, name, cmp.Or(didYouMean(name, names), "; it has "+strings.Join(names, ", ")))
		default:
			values[name] = value
		}
	}
	return values, nil
}
