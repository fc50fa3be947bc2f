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

// JournalFolder is the folder of the journal, and of nothing else. Root believes the journal: by
// what stands in it, values are put back and files removed. So no service may share its folder, and
// nobody but root may have written it or chosen which file it is. The folder /var/lib/kt is the
// agent's: systemd gives it, and all that is in it, to the user that the agent runs as.
const JournalFolder = "/var/lib/kt-tune"

const journalFile = JournalFolder + "/journal.json"

// journalFolders are kt's by their names. They are removed with the journal, when nothing else is in them.
var journalFolders = []string{JournalFolder}

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

// walk opens a folder part by part, from the root on, and follows no link. It refuses one that others than root could have written. Where
// one is not there create may make it.
func (t *Tree) walk(dir string, create func(in *os.File, p string) error) (*os.File, error) {
	at, err := os.Open(t.root)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", t.root, withoutPath(err))
	}
	p := "/"
	for part := range strings.SplitSeq(strings.TrimPrefix(dir, "/"), "/") {
		err := onlyOurs(at, p)
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
	if err := onlyOurs(at, p); err != nil {
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
		return nil, fmt.Errorf("%s is a link, or no folder: kt follows none on the way to its journal", p)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", p, withoutPath(err))
	}
	return f, nil
}

// journalFolder opens the journal's folder, if nobody but root may put another in its place.
func (t *Tree) journalFolder() (*os.File, error) { return t.walk(JournalFolder, nil) }

// makeJournalFolder makes the journal's folder and the missing ones above it.
func (t *Tree) makeJournalFolder() (made []string, err error) {
	f, err := t.walk(JournalFolder, func(in *os.File, p string) error {
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

// readOurs reads a regular file of an open folder, unless others than root could have written it.
func readOurs(folder *os.File, p string) ([]byte, error) {
	f, err := openRegular(folder, p)
	if errors.Is(err, errNoRegular) {
		return nil, fmt.Errorf("%s is %w: kt does not read it", p, err)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", p, withoutPath(err))
	}
	if err := onlyOurs(f, p); err != nil {
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
	return readOurs(folder, journalFile)
}
