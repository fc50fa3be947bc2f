package tune

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// This file is about a machine whose journal, of an earlier kt, lies where others than root could
// have written it: systemd gave its folder to the user of the agent. Files of kt's
// that are surely root's are removed, and values are only shown.

// undoProven removes kt's own files, which nobody but root could have made, and says of each
// value that the journal tells of why it is left.
func (t *Tree) undoProven(doubt error) []Undone {
	var undone []Undone
	for _, p := range t.provenFiles() {
		u := Undone{Kind: OwnFile, Path: p, State: Restored}
		if u.Err = t.drop(p); u.Err != nil {
			u.State = Failed
		}
		undone = append(undone, u)
	}
	claimed, values := t.claimed(doubt)
	if claimed != nil {
		t.dropFolders(claimed.Folders)
	}
	return append(undone, values...)
}

// statusOfDoubtful is what undoProven would find.
func (t *Tree) statusOfDoubtful(doubt error) []Undone {
	var held []Undone
	for _, p := range t.provenFiles() {
		held = append(held, Undone{Kind: OwnFile, Path: p, State: Held})
	}
	_, values := t.claimed(doubt)
	return append(held, values...)
}

// provenFiles are those of kt's own files that root made, as kt left them: no other user can
// give a file to root, and the sum in it is of all that kt wrote.
func (t *Tree) provenFiles() []string {
	candidates := []string{SysctlFile, TmpfilesFile, UdevFile, LimitsFile}
	for _, name := range t.host().Glob(strings.TrimPrefix(DropIn("*.service"), "/")) {
		candidates = append(candidates, "/"+name)
	}
	var proven []string
	for _, p := range candidates {
		folder, err := t.folder(path.Dir(p))
		if err != nil {
			continue
		}
		b, err := readChecked(folder, p, onlyOurs)
		_ = folder.Close() // nothing was written
		if err == nil && strings.HasPrefix(string(b), ownHeader) && sumHolds(string(b)) {
			proven = append(proven, p)
		}
	}
	return proven
}

// claimed returns a journal that anybody may have written, and its values beside those of the
// machine. Nothing is written. The journal is nil if there is none that can be read.
func (t *Tree) claimed(doubt error) (*journal, []Undone) {
	b, err := t.readFormerBy(anybodys)
	var j *journal
	if err == nil {
		j, err = parseJournal(b)
	}
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, []Undone{{Kind: OwnFile, Path: formerJournal, State: Failed, Err: doubt}}
	}
	boot := t.bootID()
	var values []Undone
	for _, e := range j.Entries {
		u := t.judge(e, boot)
		if u.State == Held {
			u.State = Failed
			u.Err = fmt.Errorf("%w, nor that the value was %q: set it by hand; or, after you have read its contents: install -D -m 0644 %s %s, and run this again",
				doubt, e.Old, formerJournal, journalFile)
		}
		values = append(values, u)
	}
	return j, values
}
