package tune

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/kt-bench/kt/internal/host"
)

// Tree is a machine as something that can be changed: its files below a folder, and the kernel that takes their values. [Tree.Apply]
// and [Tree.Rollback] may be killed at any moment: a second Rollback, or the first, still puts everything back.
type Tree struct {
	root    string
	version string
	kernel  kernel

	// after is told of every single step once it was made; but in tests it is nil.
	after func(step string)
}

// NewTree is the machine whose files are below root: "/" for the one that kt runs on. The journal notes the version of kt.
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

// beside is the name under which a file is written first: always the same, so that one that was left behind can be found.
func beside(p string) string { return p + ".kt-new" }

// folder opens a folder of the machine. A link on the way is followed below the root, but none on the way to the journal.
func (t *Tree) folder(dir string) (*os.File, error) {
	if dir == JournalFolder {
		f, _, err := t.journalFolder(false)
		return f, err
	}
	return host.OpenBelow(t.root, host.Rel(dir), unix.O_DIRECTORY)
}

// openAt opens a file in a folder by the last part of its path, which must be no link. It does not wait for a pipe's other end.
func openAt(folder *os.File, p string, flag int, mode uint32) (*os.File, error) {
	flag |= unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	fd, err := unix.Openat(int(folder.Fd()), path.Base(p), flag, mode)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: p, Err: err}
	}
	return os.NewFile(uintptr(fd), p), nil
}

// openRegular opens a regular file in a folder for reading. What kt never makes is errNoRegular.
func openRegular(folder *os.File, p string) (*os.File, error) {
	f, err := openAt(folder, p, os.O_RDONLY, 0)
	switch {
	case errors.Is(err, unix.ELOOP):
		return nil, errNoRegular
	case err != nil:
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = f.Close() // nothing was written
		return nil, errNoRegular
	}
	return f, nil
}

// mostText is the size that no file has whose text kt compares or puts back.
const mostText = 1 << 20

// textOf reads a file to its end and closes it.
func textOf(f *os.File) (string, error) {
	defer func() { _ = f.Close() }() // nothing was written
	b, err := io.ReadAll(io.LimitReader(f, mostText+1))
	if err == nil && len(b) > mostText {
		err = fmt.Errorf("it is larger than %d bytes, which no file of this kind is", mostText)
	}
	return string(b), err
}

// put writes a whole file that everybody may read: it is there with all its content, or as it was before.
func (t *Tree) put(p string, content []byte) error {
	folder, err := t.folder(path.Dir(p))
	if err != nil {
		return fmt.Errorf("write %s: %w", p, withoutPath(err))
	}
	defer func() { _ = folder.Close() }() // it was synced
	fd, name := int(folder.Fd()), path.Base(p)
	if err = t.fill(folder, beside(p), content); err == nil {
		err = unix.Renameat(fd, beside(name), fd, name)
	}
	if err != nil {
		_ = unix.Unlinkat(fd, beside(name), 0) // the first error is the one that tells why
		return fmt.Errorf("write %s: %w", p, withoutPath(err))
	}
	t.did("rename", p)
	return t.syncFolder(folder, path.Dir(p))
}

// fill makes a new file. One that was left behind is not written over: somebody else may have it open.
func (t *Tree) fill(folder *os.File, p string, content []byte) error {
	_ = unix.Unlinkat(int(folder.Fd()), path.Base(p), 0) // what cannot be removed cannot be made anew
	f, err := openAt(folder, p, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	t.did("create", p)
	_, err = f.Write(content)
	t.did("write", p)
	// The umask may have taken rights that the file's readers need.
	err = errors.Join(err, f.Chmod(0o644), f.Sync())
	t.did("sync", p)
	return errors.Join(err, f.Close())
}

// drop removes a file; one that is not there is fine.
func (t *Tree) drop(p string) error {
	folder, err := t.folder(path.Dir(p))
	if err == nil {
		defer func() { _ = folder.Close() }() // it is synced
		err = unix.Unlinkat(int(folder.Fd()), path.Base(p), 0)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove %s: %w", p, withoutPath(err))
	}
	t.did("remove", p)
	return t.syncFolder(folder, path.Dir(p))
}

func (t *Tree) syncFolder(folder *os.File, p string) error {
	err := folder.Sync()
	if errors.Is(err, unix.EINVAL) {
		err = nil // the file system has no such thing
	}
	t.did("sync", p)
	if err != nil {
		return fmt.Errorf("sync folder %s: %w", p, withoutPath(err))
	}
	return nil
}

// missing are a folder, and those on the way to it, that are not there: the outermost first.
func (t *Tree) missing(dir string) []string {
	if dir == "/" || t.host().Exists(host.Rel(dir)) {
		return nil
	}
	return append(t.missing(path.Dir(dir)), dir)
}

// makeFolders makes a folder and those that it is in, for everybody to look into.
func (t *Tree) makeFolders(dir string) error {
	for _, d := range t.missing(dir) {
		folder, err := t.folder(path.Dir(d))
		if err != nil {
			return fmt.Errorf("make folder %s: %w", d, withoutPath(err))
		}
		_, err = t.makeIn(folder, d)
		_ = folder.Close() // it was synced
		if err != nil {
			return err
		}
	}
	return nil
}

// makeIn makes one folder. made is false if somebody else was faster.
func (t *Tree) makeIn(folder *os.File, p string) (made bool, err error) {
	err = unix.Mkdirat(int(folder.Fd()), path.Base(p), 0o755)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err == nil {
		t.did("mkdir", p)
		var f *os.File
		if f, err = openAt(folder, p, unix.O_DIRECTORY, 0); err == nil {
			err = errors.Join(f.Chmod(0o755), f.Close()) // whatever the umask is
		}
	}
	if err != nil {
		return true, fmt.Errorf("make folder %s: %w", p, withoutPath(err))
	}
	return true, t.syncFolder(folder, path.Dir(p))
}

// dropFolders removes empty folders, the last one first. What is in use, or somebody else's by now, stays.
func (t *Tree) dropFolders(dirs []string) {
	for _, d := range slices.Backward(dirs) {
		folder, err := t.folder(path.Dir(d))
		if err != nil {
			continue
		}
		fd, name := int(folder.Fd()), path.Base(d)
		var s unix.Stat_t
		err = unix.Fstatat(fd, name, &s, unix.AT_SYMLINK_NOFOLLOW)
		if err == nil && trusted(int(s.Uid)) && unix.Unlinkat(fd, name, unix.AT_REMOVEDIR) == nil {
			t.did("rmdir", d)
			_ = t.syncFolder(folder, path.Dir(d)) // at worst the empty folder is back after a power cut
		}
		_ = folder.Close()
	}
}

// withoutPath is an error of the file system without its path, which the caller names as the machine's.
func withoutPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
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

// kernel takes new values. A test has one of its own, for a folder does not behave as the kernel's files do.
type kernel interface {
	// Write gives a file of the kernel's its value in one write: the kernel takes each as a value of its own.
	Write(f *os.File, value string) error
	// SetOpenFiles sets RLIMIT_NOFILE of the process that started at start, in ticks since the machine did. -1 is unlimited.
	SetOpenFiles(pid int, start, soft, hard int64) error

	// Remount sets how a mount keeps access times, as one of atimes, and leaves its other options. at is the mount point's open folder.
	Remount(at *os.File, atime string) error
}

// systemKernel is the kernel that kt runs on. But for Linux it changes no process and no mount.
type systemKernel struct{}

func (systemKernel) Write(f *os.File, value string) error {
	text := []byte(value + "\n")
	n, err := unix.Write(int(f.Fd()), text) // not f.Write, which would write the rest of a value as a second one
	for errors.Is(err, unix.EINTR) {
		n, err = unix.Write(int(f.Fd()), text)
	}
	if err == nil && n < len(text) {
		return fmt.Errorf("only %d of %d bytes were taken", n, len(text))
	}
	if err == nil {
		_ = f.Truncate(int64(len(text))) // of a copy of a machine; the kernel's own files have no length
	}
	return err
}

// tookError tells that the kernel took a value, and made another of it.
type tookError struct{ path, wrote, now string }

func (e *tookError) Error() string {
	return fmt.Sprintf("%s: the kernel made %q of %q", e.path, e.now, e.wrote)
}
