package tune

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

var (
	errBusy    = errors.New("another kt is changing this machine right now: wait until it is done")
	errNothing = errors.New("kt has changed nothing here")
)

// lock keeps every other kt from changing the machine until the function that it
// returns is called. It is held on the journal's folder, which make makes when it is
// not there; made are the folders that were. Without make the error is errNothing.
//
// The folder goes with the last journal, so one that was opened may be another by
// the time that it is locked: then lock starts again.
func (t *Tree) lock(create bool) (made []string, release func(), err error) {
	for range 100 {
		if create {
			fresh, err := t.makeJournalFolder()
			made = append(made, fresh...)
			if err != nil {
				t.dropFolders(made)
				return nil, nil, fmt.Errorf("journal: %w", err)
			}
		}
		f, err := t.journalFolder()
		switch {
		case errors.Is(err, fs.ErrNotExist) && !create:
			return nil, nil, errNothing
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, nil, fmt.Errorf("journal: %w", err)
		}
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil && t.same(f) {
			return made, func() { unlockFolder(f) }, nil
		}
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, nil, errBusy
		}
		if err != nil {
			return nil, nil, fmt.Errorf("journal: lock %s: %w", JournalFolder, err)
		}
	}
	return nil, nil, errBusy
}

// unlockFolder gives the lock up before the folder is closed: a process that is just being
// started shares the open folder, and with it the lock.
func unlockFolder(f *os.File) {
	_ = unix.Flock(int(f.Fd()), unix.LOCK_UN) // closing it does the same, only later
	_ = f.Close()                             // it was only read from: nothing is lost
}

// same tells that an open folder is still the journal's.
func (t *Tree) same(f *os.File) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := t.journalFolder()
	if err != nil {
		return false
	}
	defer func() { _ = now.Close() }() // nothing was written
	named, err := now.Stat()
	return err == nil && os.SameFile(open, named)
}
