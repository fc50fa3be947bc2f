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
	"github.com/kt-bench/kt/internal/secret"
	"github.com/kt-bench/kt/internal/suggest"
)

// Folder is where a study is kept: what it is in study.json, what happened in log.jsonl, and a run
// file for each load of each run in runs.
type Folder struct {
	ID    string
	Study *Study
	dir   string
	log   []entry
	bad   error                 // of damaged lines of the log
	read  map[int][]LoadFigures // by the number of the turn
	file  *os.File              // the log, held by whoever makes runs; nil: nobody does here
}

// entry is one line of the log.
type entry struct {
	At     time.Time `json:"at"`
	What   what      `json:"what"`
	Turn   int       `json:"turn,omitempty"`
	Cell   *int      `json:"cell,omitempty"` // of without, and of began and made: where the topic is
	Topic  string    `json:"topic,omitempty"`
	Reason string    `json:"reason,omitempty"`

	Host    bool            `json:"host,omitempty"`    // of changed: hosts are, by kt tune's journal
	Hosts   []string        `json:"hosts,omitempty"`   // their agents; none: the host of this kt
	Brokers []BrokerSetting `json:"brokers,omitempty"` // of changed: what they had before
}

// what is what happened.
type what string

const (
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

// Create makes the folder of a new study below dir.
func Create(dir string, s *Study, id string) (*Folder, error) {
	if err := plan.CheckName(id); err != nil {
		return nil, fmt.Errorf("study %q: %w", id, err)
	}
	f := &Folder{ID: id, Study: s, dir: filepath.Join(dir, id)}
	return f, f.create()
}

func (f *Folder) create() error {
	if err := os.MkdirAll(filepath.Join(f.dir, runsDir), 0o755); err != nil {
		return err
	}
	text, err := json.MarshalIndent(f.Study, "", "  ")
	if err != nil {
		return err
	}
	return input.ReplaceText(filepath.Join(f.dir, studyFile), 0o600, append(text, '\n'))
}

// Open reads the folder of a study.
func Open(dir, id string) (*Folder, error) {
	f := &Folder{ID: id, dir: filepath.Join(dir, id), Study: new(Study)}
	err := f.open()
	if errors.Is(err, fs.ErrNotExist) {
		ids, _ := IDs(dir) // a folder that cannot be read has none
		hint := "; there is none yet: make one with kt study run"
		if n := suggest.Nearest(id, ids); n != "" {
			hint = "; did you mean " + n + "?"
		} else if len(ids) > 0 {
			hint = "; the newest is " + ids[0]
		}
		return nil, fmt.Errorf("study %s: there is no such study%s", id, hint)
	}
	return f, err
}

func (f *Folder) open() error {
	name := studyFile
	text, err := input.Read(filepath.Join(f.dir, name), input.Settings)
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
		return fmt.Errorf("study %s: %s: %w", f.ID, filepath.Join(f.dir, name), input.Cause(err))
	}
	return nil
}

// name returns the ID as a part of other names.
func (f *Folder) name() string { return strings.ReplaceAll(f.ID, "/", "-") }

// IDs returns the studies below a folder, the newest first.
func IDs(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	type made struct {
		id string
		at time.Time
	}
	var all []made
	for _, e := range entries {
		if info, err := os.Stat(filepath.Join(dir, e.Name(), studyFile)); err == nil {
			all = append(all, made{e.Name(), info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b made) int { // IDs begin with their second
		return cmp.Or(-cmp.Compare(second(a.id), second(b.id)), b.at.Compare(a.at), cmp.Compare(a.id, b.id))
	})
	var ids []string
	for _, m := range all {
		ids = append(ids, m.id)
	}
	return ids, nil
}

// second returns the part of an ID that is its time.
func second(id string) string { return id[:min(len(id), len("20060102-150405"))] }

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

// isDone reports whether a run is complete, or left out with its cell.
func (f *Folder) isDone(t Turn) bool {
	return f.leftOut(t.Cell) != "" || slices.ContainsFunc(f.log, func(e entry) bool { return e.What == done && e.Turn == t.Number })
}

// leftOut returns why a cell was left out; "": it was not.
func (f *Folder) leftOut(c Cell) string {
	for _, e := range f.log {
		if e.What == without && e.Cell != nil && *e.Cell == c.Index {
			return e.Reason
		}
	}
	return ""
}

// topics returns the topics that are still there by the log: each was noted before it was made.
func (f *Folder) topics() (left []string) {
	for _, e := range f.log {
		switch e.What {
		case began, made:
			left = append(left, e.Topic)
		case done, removed:
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
	return filepath.Join(f.dir, runsDir, name+".ktr")
}

// Dir returns where the folder is.
func (f *Folder) Dir() string { return f.dir }

// IsOpen reports whether a run is left to make, a topic to delete, or a change to put back. An error is of files that cannot be read.
func (f *Folder) IsOpen() (bool, error) {
	if len(f.Study.Parts) > 0 {
		return f.isOpenInParts()
	}
	_, _, more, err := f.next()
	brokers, host := f.changed()
	return more || len(f.topics()) > 0 || brokers != nil || host, errors.Join(err, f.bad)
}

// Count returns how many runs are done, and how many the study wants as far as it is known: of parts, those that were begun.
func (f *Folder) Count() (done, wanted int, err error) {
	if len(f.Study.Parts) > 0 {
		parts, err := f.begun()
		for _, p := range parts {
			d, w, bad := p.Count()
			done, wanted, err = done+d, wanted+w, errors.Join(err, bad)
		}
		return done, wanted, err
	}
	turns, err := f.Sequence()
	for _, t := range turns {
		if f.leftOut(t.Cell) != "" || t.Repeat == 0 {
			continue
		}
		wanted++
		if f.isDone(t) {
			done++
		}
	}
	return done, wanted, err
}
