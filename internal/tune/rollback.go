package tune

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// The states of undoing a change, and of what the journal holds.
const (
	Restored State = "restored"
	Already  State = "already" // was there before kt, and is there again
	Drifted  State = "drifted" // somebody else changed it since
	Gone     State = "gone"    // the process has ended, the disk is another, the machine has started again
	Held     State = "held"    // as kt left it; only of [Tree.Status]
)

// Undone is what became of one thing that kt had changed, or of [Tree.Status] what it is now.
type Undone struct {
	Setting string `json:"setting,omitempty"`
	Kind    Kind   `json:"kind"`
	Path    string `json:"path"`
	Old     string `json:"old"` // before kt changed it
	Now     string `json:"now"` // before it was undone; "" where it is not known
	State   State  `json:"state"`
	Err     error  `json:"-"` // why it failed, or was left; as "why" in JSON
}

// MarshalJSON has the error as a text.
func (u Undone) MarshalJSON() ([]byte, error) {
	type fields Undone
	all := struct {
		fields
		Why string `json:"why,omitempty"`
	}{fields: fields(u)}
	if u.Err != nil {
		all.Why = u.Err.Error()
	}
	return json.Marshal(all)
}

// Rollback puts back what the journal holds: kt's own files are removed, and every value that is still kt's becomes what it was
// before kt. What somebody else changed since is left in the journal, and so is what fails. By force changed values are put back,
// edited files removed, and foreign ones forgotten. An error means that nothing was undone, or that the journal is not up to date.
//
// kt's own files go first, so that a start in the middle does not set anything again.
func (t *Tree) Rollback(force bool) ([]Undone, error) {
	_, unlock, err := t.lock(false)
	if errors.Is(err, errNothing) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer unlock()
	j, err := t.readJournal()
	if err != nil {
		return nil, err
	}
	undone, files := t.dropFiles(j, force)
	for _, e := range j.Entries { // what kt changed for itself too has its own old value
		e.Beside = slices.DeleteFunc(e.Beside, func(b besideValue) bool {
			return slices.ContainsFunc(j.Entries, func(own *entry) bool { return own.Path == b.Path })
		})
	}
	values, entries := t.restoreAll(j, force)
	undone = append(undone, values...)
	t.dropFolders(j.Folders)
	if j.Files, j.Entries = files, entries; len(files) == 0 && len(entries) == 0 {
		return undone, t.dropJournal(j)
	}
	j.Folders = slices.DeleteFunc(j.Folders, func(d string) bool { return t.missing(d) != nil })
	if err := t.drop(beside(journalFile)); err != nil {
		return undone, err
	}
	return undone, t.saveJournal(j)
}

// restoreAll restores values from the last to the first, and returns what is left. Writing one may change another: so all are looked at
// before, and what is not as it was is written again, a few times.
func (t *Tree) restoreAll(j *journal, force bool) ([]Undone, []*entry) {
	undone := make([]Undone, len(j.Entries))
	boot := t.bootID()
	for i, e := range j.Entries {
		undone[i] = t.judge(e, boot)
		if u := &undone[i]; u.State == Held || force && u.State == Drifted {
			u.State, u.Err = Restored, nil
		}
	}
	for range 3 {
		wrote := false
		for i, e := range slices.Backward(j.Entries) {
			if u := &undone[i]; u.State == Restored && !t.isOld(e) {
				wrote = true
				u.Err = t.restore(e)
			}
		}
		if !wrote {
			break
		}
	}
	var left []*entry
	for i, e := range j.Entries {
		u := &undone[i]
		if u.State == Restored && !t.isOld(e) {
			u.State, u.Err = Failed, cmp.Or(u.Err, fmt.Errorf("%s did not stay %q", e.Path, e.Old))
		}
		switch u.State {
		case Restored:
			u.Err = nil // of a first try
		case Failed, Drifted:
			left = append(left, e)
		}
	}
	return undone, left
}

// restore puts back a value, and what the kernel set with it.
func (t *Tree) restore(e *entry) error {
	now, pair, err := t.readPair(e.subject)
	if err == nil && !e.isOld(now, pair) {
		err = t.putBack(e.subject, e.Old, e.PairOld)
	}
	for _, b := range e.Beside {
		s := subject{Kind: WriteFile, Path: b.Path}
		if now, bad := t.value(s); err == nil && bad == nil && now != b.Old {
			err = t.set(s, b.Old)
		}
	}
	return err
}

// isOld reports whether a value, and what the kernel sets with it, are as before kt changed them.
func (t *Tree) isOld(e *entry) bool {
	now, pair, err := t.readPair(e.subject)
	return err == nil && e.isOld(now, pair) && t.besideIsOld(e)
}

func (t *Tree) besideIsOld(e *entry) bool {
	return !slices.ContainsFunc(e.Beside, func(b besideValue) bool {
		now, err := t.value(subject{Kind: WriteFile, Path: b.Path})
		return err == nil && now != b.Old
	})
}

// readPair returns the value of a setting, and that of the one with which it makes a pair; "" where it makes none.
func (t *Tree) readPair(s subject) (now, pair string, err error) {
	now, err = t.value(s)
	if other := otherOfPair(s.Path); err == nil && other != "" {
		pair, err = t.value(subject{Kind: WriteFile, Path: other})
	}
	return now, pair, err
}

// judge tells whose the value is that is there now: Held is kt's.
func (t *Tree) judge(e *entry, boot string) Undone {
	u := Undone{Setting: e.Setting, Kind: e.Kind, Path: e.Path, Old: e.Old}
	if t.diskName(e.Path) != e.Disk {
		u.State, u.Err = Gone, errors.New("another disk has this name now")
		return u
	}
	now, pair, err := t.readPair(e.subject)
	if err != nil {
		u.State, u.Err = Failed, err
		if errors.Is(err, errEnded) || errors.Is(err, fs.ErrNotExist) {
			u.State = Gone
		}
		return u
	}
	u.Now = now
	switch old := e.isOld(now, pair); {
	case old && (e.Boot != boot || t.besideIsOld(e)):
		u.State = Already
	case old, e.isOurs(now, pair): // an old one where a Rollback was killed before it came to the rest
		u.State = Held
	case e.Boot != boot:
		u.State, u.Err = Gone, errors.New("the machine has started again since, without kt's value")
	default:
		u.State, u.Err = Drifted, fmt.Errorf("set to %q since", now)
	}
	return u
}

// Status compares each change in the journal with the present value of its setting, and returns one of Held, Already,
// Drifted, Gone and Failed for it. It changes nothing.
func (t *Tree) Status() ([]Undone, error) {
	j, err := t.readJournal()
	if err != nil {
		return nil, err
	}
	var all []Undone
	for _, f := range j.Files {
		all = append(all, t.judgeFile(f))
	}
	boot := t.bootID()
	for _, e := range j.Entries {
		all = append(all, t.judge(e, boot))
	}
	return all, nil
}
