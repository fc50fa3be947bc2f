package tune

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// JournalFolder is the folder of the journal, and of nothing else. Root believes the journal: by
// what stands in it, values are put back and files removed. So no service may share its folder, and
// nobody but root may have written it or chosen which file it is. The folder /var/lib/kt is the
// agent's: systemd gives it, and all that is in it, to the user that the agent runs as.
const JournalFolder = "/var/lib/kt-tune"

const (
	journalFile = JournalFolder + "/journal.json"

	// Where kt had its journal until it was found that the agent could write it.
	formerFolder  = "/var/lib/kt/tune"
	formerJournal = formerFolder + "/journal.json"
)

// The folders that are kt's by their names. They are removed with the journal, when
// nothing else is in them.
var (
	journalFolders = []string{JournalFolder}
	formerFolders  = []string{path.Dir(formerFolder), formerFolder}
)

// distrustError is the reason why kt does not trust a file or folder.
type distrustError struct{ path, why string }

func (e *distrustError) Error() string { return e.path + " " + e.why }

// trusted reports whether what belongs to a user may be believed.
func trusted(owner int) bool { return owner == 0 || owner == os.Geteuid() }

// onlyOurs refuses an open file or folder that others than root could have written: by what
// is in it they could have root change the machine.
func onlyOurs(f *os.File, p string) error {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("%s: %w", p, withoutPath(err))
	}
	s, known := info.Sys().(*syscall.Stat_t)
	switch {
	case !known:
		return &distrustError{p, "does not show its owner: kt does not trust it"}
	case !trusted(int(s.Uid)):
		return &distrustError{p, fmt.Sprintf("may be written by others than root, for it belongs to user %d: kt does not trust it", s.Uid)}
	case info.Mode().Perm()&0o022 != 0:
		return &distrustError{p, fmt.Sprintf("may be written by others than root: its mode is %04o, so kt does not trust it; read its contents, then chmod go-w", info.Mode().Perm())}
	case info.Mode().IsRegular() && s.Nlink != 1:
		return &distrustError{p, "has other names elsewhere: kt does not trust it"}
	}
	return nil
}

// walk opens a folder part by part, from the root on, and follows no link. check looks at each
// open folder on the way, and at the last one; where one is not there create may make it.
func (t *Tree) walk(dir string, check func(f *os.File, p string) error, create func(in *os.File, p string) error) (*os.File, error) {
	at, err := os.Open(t.root)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", t.root, withoutPath(err))
	}
	p := "/"
	for part := range strings.SplitSeq(strings.TrimPrefix(dir, "/"), "/") {
		err := check(at, p)
		p = path.Join(p, part)
		var next *os.File
		if err == nil {
			next, err = openFolderIn(at, p, create)
		}
		_ = at.Close() // nothing was written, or it was synced
		if err != nil {
			return nil, err
		}
		at = next
	}
	if err := check(at, p); err != nil {
		_ = at.Close() // nothing was written
		return nil, err
	}
	return at, nil
}

func openFolderIn(folder *os.File, p string, create func(in *os.File, p string) error) (*os.File, error) {
	f, err := openAt(folder, p, unix.O_DIRECTORY, 0)
	if errors.Is(err, fs.ErrNotExist) && create != nil {
		if err := create(folder, p); err != nil {
			return nil, err
		}
		f, err = openAt(folder, p, unix.O_DIRECTORY, 0)
	}
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil, &distrustError{p, "is a link, or no folder: kt follows none on the way to its journal"}
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", p, withoutPath(err))
	}
	return f, nil
}

// journalFolder opens the journal's folder, if nobody but root may put another in its place.
func (t *Tree) journalFolder() (*os.File, error) { return t.walk(JournalFolder, onlyOurs, nil) }

// makeJournalFolder makes the journal's folder and the missing ones above it.
func (t *Tree) makeJournalFolder() (made []string, err error) {
	f, err := t.walk(JournalFolder, onlyOurs, func(in *os.File, p string) error {
		fresh, err := t.makeIn(in, p)
		if fresh {
			made = append(made, p)
		}
		return err
	})
	if err != nil {
		return made, err
	}
	return made, f.Close()
}

// anybodys is no check: whoever owns a folder or a file, walk and readChecked go on.
func anybodys(*os.File, string) error { return nil }

// readChecked reads a regular file of an open folder. check looks at the open file before
// anything is read.
func readChecked(folder *os.File, p string, check func(f *os.File, p string) error) ([]byte, error) {
	f, err := openAt(folder, p, os.O_RDONLY, 0)
	if errors.Is(err, unix.ELOOP) {
		return nil, &distrustError{p, "is a link: kt does not follow it"}
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", p, withoutPath(err))
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = f.Close() // nothing was written
		return nil, &distrustError{p, "is no regular file: kt does not read it"}
	}
	if err := check(f, p); err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	text, err := textOf(f)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", p, withoutPath(err))
	}
	return []byte(text), nil
}

// readState reads the journal from its folder.
func (t *Tree) readState() ([]byte, error) {
	folder, err := t.journalFolder()
	if err != nil {
		return nil, err
	}
	defer func() { _ = folder.Close() }() // nothing was written
	return readChecked(folder, journalFile, onlyOurs)
}

// readFormer reads a journal that an earlier kt left in the agent's folder. Whose the
// folders are does not matter, for root alone can give a file to root: one that is
// root's, and has no other name, was written by root. For a user who may not read it,
// there is none.
func (t *Tree) readFormer() ([]byte, error) { return t.readFormerBy(onlyOurs) }

func (t *Tree) readFormerBy(check func(f *os.File, p string) error) ([]byte, error) {
	folder, err := t.walk(formerFolder, anybodys, nil)
	if err == nil {
		defer func() { _ = folder.Close() }() // nothing was written
		var b []byte
		if b, err = readChecked(folder, formerJournal, check); err == nil {
			return b, nil
		}
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return nil, err
}

// takeOver moves a journal of an earlier kt into the folder that is root's alone. Killed in
// between it leaves two that are the same, of which the next call removes the former.
func (t *Tree) takeOver(j *journal) error {
	if j.former != nil {
		if err := t.put(journalFile, j.former, 0o644); err != nil {
			return fmt.Errorf("journal: %w", err)
		}
		j.onDisk, j.former = j.former, nil
	}
	// A former journal with other values was written by an older kt since. It is taken over once
	// the changes of this one are undone.
	if former, err := t.readFormer(); err != nil || !bytes.Equal(j.onDisk, former) {
		return nil //nolint:nilerr // there is none, or none that may be believed
	}
	if err := t.dropFormer(); err != nil {
		return err
	}
	t.dropFolders(formerFolders)
	return nil
}

// dropFormer removes an earlier kt's journal.
func (t *Tree) dropFormer() error {
	folder, err := t.walk(formerFolder, anybodys, nil)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	defer func() { _ = folder.Close() }()                                    // it is synced
	_ = unix.Unlinkat(int(folder.Fd()), path.Base(beside(formerJournal)), 0) // of a kt that was killed
	if err := unix.Unlinkat(int(folder.Fd()), path.Base(formerJournal), 0); err != nil {
		return fmt.Errorf("journal: remove %s: %w", formerJournal, withoutPath(err))
	}
	t.did("remove", formerJournal)
	return t.syncFolder(folder, formerFolder)
}
