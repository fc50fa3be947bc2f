package tune

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/kt-bench/kt/internal/host"
)

// Tree is a machine as something that can be changed: its files below a folder, and
// the kernel that takes their values.
//
// [Tree.Apply] notes in a journal what it is about to change before it changes
// anything, and [Tree.Rollback] puts back what is noted. Both may be killed at any
// moment: a second Rollback, or the first, still puts everything back.
type Tree struct {
	root    string
	version string
	kernel  kernel

	// after is told of every single step once it was made on the disk or in the
	// kernel. A test ends the process there; else it is nil.
	after func(step string)
}

// NewTree is the machine whose files are below root: "/" for the one that kt runs on.
// The journal notes the version of kt.
func NewTree(root, version string) *Tree {
	return &Tree{root: root, version: version, kernel: systemKernel{}}
}

// at is where a path of the machine is on the one that kt runs on.
func (t *Tree) at(p string) string { return filepath.Join(t.root, p) }

func (t *Tree) did(step, p string) {
	if t.after != nil {
		t.after(step + " " + p)
	}
}

func (t *Tree) host() host.FS { return host.Rooted(t.root) }

// beside is the name under which a file is written before it takes its place. It is
// always the same, so that one that was left behind can be found.
func beside(p string) string { return p + ".kt-new" }

// put writes a whole file: it is there with all its content, or as it was before.
func (t *Tree) put(p string, content []byte, mode fs.FileMode) error {
	if err := t.fill(beside(p), content, mode); err != nil {
		_ = os.Remove(t.at(beside(p))) // the first error is the one that tells why
		return fmt.Errorf("write %s: %w", p, withoutPath(err))
	}
	if err := os.Rename(t.at(beside(p)), t.at(p)); err != nil {
		_ = os.Remove(t.at(beside(p)))
		return fmt.Errorf("write %s: %w", p, withoutPath(err))
	}
	t.did("rename", p)
	return t.syncFolder(path.Dir(p))
}

func (t *Tree) fill(p string, content []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(t.at(p), os.O_WRONLY|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW, mode)
	if err != nil {
		return err
	}
	t.did("create", p)
	_, err = f.Write(content)
	t.did("write", p)
	// The umask may have taken rights that the file's readers need.
	err = errors.Join(err, f.Chmod(mode), f.Sync())
	t.did("sync", p)
	return errors.Join(err, f.Close())
}

// drop removes a file; one that is not there is fine.
func (t *Tree) drop(p string) error {
	err := os.Remove(t.at(p))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove %s: %w", p, withoutPath(err))
	}
	t.did("remove", p)
	return t.syncFolder(path.Dir(p))
}

func (t *Tree) syncFolder(p string) error {
	f, err := os.Open(t.at(p))
	if err != nil {
		return fmt.Errorf("sync folder %s: %w", p, withoutPath(err))
	}
	err = f.Sync()
	if errors.Is(err, unix.EINVAL) {
		err = nil // the file system has no such thing
	}
	t.did("sync", p)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("sync folder %s: %w", p, withoutPath(err))
	}
	return nil
}

// missing are the folders on the way to a folder, and itself, that are not there:
// the outermost first.
func (t *Tree) missing(dir string) []string {
	if _, err := os.Stat(t.at(dir)); err == nil || dir == "/" {
		return nil
	}
	return append(t.missing(path.Dir(dir)), dir)
}

// makeFolders makes a folder and those that it is in, for everybody to look into.
func (t *Tree) makeFolders(dir string) error {
	for _, d := range t.missing(dir) {
		err := os.Mkdir(t.at(d), 0o755)
		if errors.Is(err, fs.ErrExist) {
			continue // someone else was faster
		}
		if err == nil {
			t.did("mkdir", d)
			err = os.Chmod(t.at(d), 0o755) // whatever the umask is
		}
		if err != nil {
			return fmt.Errorf("make folder %s: %w", d, withoutPath(err))
		}
		if err := t.syncFolder(path.Dir(d)); err != nil {
			return err
		}
	}
	return nil
}

// dropFolders removes those folders that are empty, the last one first. What is in
// use, or gone, stays so.
func (t *Tree) dropFolders(dirs []string) {
	for i := len(dirs) - 1; i >= 0; i-- {
		if os.Remove(t.at(dirs[i])) == nil {
			t.did("rmdir", dirs[i])
			_ = t.syncFolder(path.Dir(dirs[i])) // at worst the empty folder is back after a power cut
		}
	}
}

// withoutPath is an error of the file system without the path of it, which the caller
// names as the machine's.
func withoutPath(err error) error {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		err = p.Err
	case errors.As(err, &l):
		err = l.Err
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: %s", err, whyRefused(os.Geteuid()))
	}
	return err
}

// whyRefused tells a user what rights are missing. Root may be without some, too.
func whyRefused(user int) string {
	if user == 0 {
		return "the container or virtual machine does not allow it"
	}
	return "this needs all rights of root"
}
