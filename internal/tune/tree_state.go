package tune

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// JournalFolder is the folder of the journal, and of nothing else. Root puts values back and removes files by what stands in it, so
// nobody but root may have written it. The folder /var/lib/kt is the agent's, and belongs to the user that it runs as.
const JournalFolder = "/var/lib/kt-tune"

const journalFile = JournalFolder + "/journal.json"

var (
	errBusy      = errors.New("another kt is changing this machine right now: wait until it is done")
	errNothing   = errors.New("kt has changed nothing here")
	errNoRegular = errors.New("no regular file")
)

// trusted reports whether what belongs to a user may be believed.
func trusted(owner int) bool { return owner == 0 || owner == os.Geteuid() }

// onlyOurs refuses an open file or folder that others than root could have written.
func onlyOurs(f *os.File, p string) error {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("%s: %w", p, withoutPath(err))
	}
	s, known := info.Sys().(*syscall.Stat_t)
	switch {
	case !known:
		return fmt.Errorf("%s does not show its owner: kt does not trust it", p)
	case !trusted(int(s.Uid)):
		return fmt.Errorf("%s may be written by others than root, for it belongs to user %d: kt does not trust it", p, s.Uid)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%s may be written by others than root: its mode is %04o, so kt does not trust it; read its contents, then chmod go-w", p, info.Mode().Perm())
	case info.Mode().IsRegular() && s.Nlink != 1:
		return fmt.Errorf("%s has other names elsewhere: kt does not trust it", p)
	}
	return nil
}

// journalFolder opens the journal's folder part by part from the root on. It follows no link, and refuses a folder that others than
// root could have written. With create it makes what is not there, and returns what it made.
func (t *Tree) journalFolder(create bool) (at *os.File, made []string, err error) {
	if at, err = os.Open(t.root); err != nil {
		return nil, nil, fmt.Errorf("open %s: %w", t.root, withoutPath(err))
	}
	p := "/"
	for part := range strings.SplitSeq(JournalFolder[1:], "/") {
		var next *os.File
		if err = onlyOurs(at, p); err == nil {
			p = path.Join(p, part)
			next, err = openFolderIn(at, p)
		}
		if errors.Is(err, fs.ErrNotExist) && create {
			var fresh bool
			if fresh, err = t.makeIn(at, p); fresh {
				made = append(made, p)
			}
			if err == nil {
				next, err = openFolderIn(at, p)
			}
		}
		_ = at.Close() // nothing was written, or it was synced
		if err != nil {
			return nil, made, err
		}
		at = next
	}
	if err := onlyOurs(at, p); err != nil {
		_ = at.Close() // nothing was written
		return nil, made, err
	}
	return at, made, nil
}

func openFolderIn(folder *os.File, p string) (*os.File, error) {
	f, err := openAt(folder, p, unix.O_DIRECTORY, 0)
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil, fmt.Errorf("%s is a link, or no folder: kt follows none on the way to its journal", p)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", p, withoutPath(err))
	}
	return f, nil
}

// readState reads the journal, unless others than root could have written it.
func (t *Tree) readState() ([]byte, error) {
	folder, _, err := t.journalFolder(false)
	if err != nil {
		return nil, err
	}
	defer func() { _ = folder.Close() }() // nothing was written
	f, err := openRegular(folder, journalFile)
	if errors.Is(err, errNoRegular) {
		return nil, fmt.Errorf("%s is %w: kt does not read it", journalFile, err)
	}
	text := ""
	if err == nil {
		if err := onlyOurs(f, journalFile); err != nil {
			_ = f.Close() // nothing was written
			return nil, err
		}
		text, err = textOf(f)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", journalFile, withoutPath(err))
	}
	return []byte(text), nil
}

// lock keeps every other kt from changing the machine until release is called. It is held on the journal's folder: create makes
// it, and without create the error is errNothing where it is not there. made are the folders that were made. One that was opened
// may be another by the time that it is locked, for it goes with the last journal: then lock starts again.
func (t *Tree) lock(create bool) (made []string, release func(), err error) {
	for range 100 {
		var f *os.File
		var fresh []string
		f, fresh, err = t.journalFolder(create)
		made = append(made, fresh...)
		if err == nil {
			if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil && t.same(f) {
				return made, func() { // the lock goes before the folder is closed: a process that is just being started shares it
					_ = unix.Flock(int(f.Fd()), unix.LOCK_UN) // closing it does the same, only later
					_ = f.Close()                             // it was only read from: nothing is lost
				}, nil
			}
			_ = f.Close() // nothing was written
		}
		switch {
		case errors.Is(err, fs.ErrNotExist) && !create:
			return nil, nil, errNothing
		case errors.Is(err, unix.EWOULDBLOCK):
			return nil, nil, errBusy
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			t.dropFolders(made)
			return nil, nil, fmt.Errorf("journal: %w", err)
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("journal: %w", err)
	}
	return nil, nil, errBusy
}

// same reports whether an open folder is still the journal's.
func (t *Tree) same(f *os.File) bool {
	now, _, err := t.journalFolder(false)
	if err != nil {
		return false
	}
	defer func() { _ = now.Close() }() // nothing was written
	open, err := f.Stat()
	named, wrong := now.Stat()
	return err == nil && wrong == nil && os.SameFile(open, named)
}
