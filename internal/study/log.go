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
	"syscall"
	"time"

	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/secret"
)

type journal struct {
	log  []entry
	bad  error    // of damaged lines
	file *os.File // held by whoever makes runs; nil: nobody does here
}

type entry struct {
	At     time.Time `json:"at"`
	What   Event     `json:"what"`
	Part   string    `json:"part,omitempty"` // "": the study has no parts
	Turn   int       `json:"turn,omitempty"`
	Cell   int       `json:"cell"` // of Skipped, and of Begun and Preparing: where the topic is
	Topic  string    `json:"topic,omitempty"`
	Reason string    `json:"reason,omitempty"` // of Skipped, and of Entered: what is added to what the part is about
	Peak   float64   `json:"peak,omitempty"`   // of Entered, in records a second; 0: the part needs none

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

	changed  Event = "changed"  // brokers or hosts, which are about to be
	restored Event = "restored" // all of them
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
	entered *entry         // nil: it was not begun
	done    map[int]bool   // the numbers of runs
	leftOut map[int]string // why cells were left out, by their index
	topics  []entry        // those of topics that are still there: each was noted before it was made

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
			if e.What == Finished {
				s.done[e.Turn] = true
			}
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
