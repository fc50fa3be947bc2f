package tune

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// journalSchema is the version of the journal. What a later one knows, kt could not put back.
const journalSchema = 1

// journal is what kt has changed on a machine, or was about to: it is on the disk before the change is made.
type journal struct {
	Schema  int    `json:"schema"`
	Version string `json:"kt"` // that wrote it last

	Entries []*entry   `json:"values,omitempty"`
	Files   []*ownFile `json:"files,omitempty"`
	Folders []string   `json:"folders,omitempty"` // that kt made, the outermost first

	onDisk []byte // what the file holds, nil for no file
}

// entry is one value, or two of a pair.
type entry struct {
	Setting string `json:"setting"`
	subject
	// Old is what was there before kt first changed it, or what somebody else has set since.
	Old string `json:"old"`
	// Ours are all values that kt wrote, or was about to.
	Ours []string `json:"ours"`

	// Of the file that becomes 0 when Path is written, and the other way round.
	PairOld  string   `json:"pair_old,omitempty"`
	PairOurs []string `json:"pair_ours,omitempty"`

	// Lines make the value last, if kt's own files have them.
	Lines []Line `json:"lines,omitempty"`

	// Beside are values that the kernel sets anew when this one is written.
	Beside []besideValue `json:"beside,omitempty"`

	Boot string    `json:"boot_id,omitempty"` // of the last change
	Time time.Time `json:"time"`              // of the first
}

// besideValue is a value that changes with another.
type besideValue struct {
	Path string `json:"path"`
	Old  string `json:"old"`
}

// readJournal returns the machine's journal, and an empty one where there is none.
func (t *Tree) readJournal() (*journal, error) {
	b, err := t.readState()
	if errors.Is(err, fs.ErrNotExist) {
		return &journal{Schema: journalSchema}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	j, err := parseJournal(b)
	if err != nil {
		return nil, fmt.Errorf("journal: %s: %w: kt cannot restore values from it, and changes nothing; "+
			"restore it from a copy, or put the values back by hand and remove it", journalFile, err)
	}
	return j, nil
}

func parseJournal(b []byte) (*journal, error) {
	j := &journal{onDisk: b}
	d := json.NewDecoder(bytes.NewReader(b))
	if err := d.Decode(j); err != nil {
		return nil, fmt.Errorf("is broken: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("is broken: something follows its end")
	}
	switch {
	case j.Schema < 1:
		return nil, errors.New("is broken: it has no schema")
	case j.Schema > journalSchema:
		return nil, fmt.Errorf("was written by kt %s, which is newer than this one", j.Version)
	}
	for i, e := range j.Entries {
		if err := e.check(); err != nil {
			return nil, fmt.Errorf("is broken: value %d is not one that kt sets: %w", i+1, err)
		}
	}
	for i, f := range j.Files {
		if err := f.check(); err != nil {
			return nil, fmt.Errorf("is broken: file %d is not kt's: %w", i+1, err)
		}
	}
	for _, d := range j.Folders {
		if err := checkFolder(d); err != nil {
			return nil, fmt.Errorf("is broken: %w", err)
		}
	}
	return j, nil
}

// check refuses what kt would not have written: all that Rollback sets or shows is looked at.
func (e *entry) check() error {
	if e == nil {
		return errors.New("it is not whole")
	}
	old := e.Old
	if pair := otherOfPair(e.Path); pair != "" { // a 0 is put back by writing the other one
		if err := checkHolds(pair, e.PairOld); err != nil {
			return err
		}
		if normal(old) == "0" {
			old = "1"
		}
	}
	for _, b := range e.Beside {
		if err := checkHolds(b.Path, b.Old); err != nil {
			return err
		}
	}
	if e.Kind == KeepOnly {
		return errors.New("nothing was set now")
	}
	if err := (accepted{}).accept(e.Setting, ""); err != nil {
		return err
	}
	c := Change{Setting: e.Setting, Kind: e.Kind, Path: e.Path, New: old, PID: e.PID, Keep: e.Lines}
	return c.check(holds)
}

func (f *ownFile) check() error {
	if f == nil {
		return errors.New("it is not whole")
	}
	for _, l := range f.Lines {
		if err := checkOwnLine(l, holds); err != nil || l.File != f.Path {
			return cmp.Or(err, fmt.Errorf("%q is of another file", l.Text))
		}
	}
	return checkOwnPath(f.Path)
}

// saveJournal writes the journal if it is not on the disk as it is.
func (t *Tree) saveJournal(j *journal) error {
	j.Version = t.version
	b, err := json.MarshalIndent(j, "", "  ")
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	b = append(b, '\n')
	if bytes.Equal(b, j.onDisk) {
		return nil
	}
	if err := t.put(journalFile, b); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	j.onDisk = b
	return nil
}

// dropJournal removes the journal and all that kt made for it.
func (t *Tree) dropJournal(j *journal) error {
	if err := errors.Join(t.drop(beside(journalFile)), t.drop(journalFile)); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	j.onDisk = nil
	t.dropFolders(j.Folders)
	t.dropFolders([]string{JournalFolder})
	return nil
}

// entry is the one of a subject, and of one of a pair the pair's; nil for none.
func (j *journal) entry(s subject) *entry {
	for _, e := range j.Entries {
		this := s
		if otherOfPair(e.Path) == s.Path {
			this.Path = e.Path
		}
		if e.subject == this {
			return e
		}
	}
	return nil
}

// isOld tells that a value, with the other one of a pair, is what was there before kt.
func (e *entry) isOld(now, pair string) bool { return now == e.Old && pair == e.PairOld }

// isOurs tells that a value, or the other one of a pair, is one that kt wrote.
func (e *entry) isOurs(now, pair string) bool {
	return slices.Contains(e.Ours, now) || pair != "" && slices.Contains(e.PairOurs, pair)
}

// write notes that kt is about to write a value into one of the entry's files.
func (e *entry) write(p, value string) {
	ours := &e.Ours
	if p != e.Path {
		ours = &e.PairOurs
	}
	if !slices.Contains(*ours, value) {
		*ours = append(*ours, value)
	}
}

// besides are the values that the kernel sets anew with this one: each scheduler of a disk has a queue of its own length.
func (t *Tree) besides(p string) []besideValue {
	queue, ok := strings.CutSuffix(p, "/queue/scheduler")
	if !ok {
		return nil
	}
	length := queue + "/queue/nr_requests"
	old, err := t.value(subject{Kind: WriteFile, Path: length})
	if err != nil {
		return nil // not every kernel has it
	}
	return []besideValue{{length, old}}
}

// bootID is another one after every start of the machine; "" where it is not told.
func (t *Tree) bootID() string {
	id, _ := t.host().Text("proc/sys/kernel/random/boot_id")
	return id
}

// unkept are the values of kt that were set for now only, as changes that would make them last.
func (t *Tree) unkept() ([]Change, error) {
	j, err := t.readJournal()
	if err != nil {
		return nil, err
	}
	var all []Change
	for _, e := range j.Entries {
		lines := slices.DeleteFunc(slices.Clone(e.Lines), func(l Line) bool { return t.keeps(j, l) })
		now, pair, err := t.readPair(e.subject)
		if err != nil || len(lines) == 0 || !e.isOurs(now, pair) {
			continue // what cannot be read, or is somebody else's, is not kt's to keep
		}
		all = append(all, Change{Setting: e.Setting, Kind: KeepOnly, Path: e.Path, Old: e.Old, New: now, Keep: lines})
	}
	return all, nil
}

// keeps reports whether one of kt's own files has a line, and is there.
func (t *Tree) keeps(j *journal, l Line) bool {
	f := j.file(l.File)
	if f == nil {
		return false
	}
	text, err := t.ownText(l.File, f)
	return err == nil && strings.Contains(text, "\n"+l.Text+"\n")
}
