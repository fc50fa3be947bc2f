package host

import "errors"

// Mount is a file system in its place.
type Mount struct {
	Point        string // "/data/kafka1"
	Type         string // "xfs"
	Source       string // "/dev/sda1"
	Root         string // the part of the file system that is mounted, "/" for all of it
	Major, Minor int    // of the device, as st_dev tells them
	Options      []string
	Super        []string // options of the file system, not of this mount of it
}

// ParseMounts reads the text of a mountinfo file, see proc(5).
func ParseMounts(text string) ([]Mount, error) { return nil, errors.ErrUnsupported }

// Mounts are the file systems that this process sees, in the order in which they
// were mounted.
func (f FS) Mounts() ([]Mount, error) { return nil, errors.ErrUnsupported }

// MountOf is the mount that a path is in: of those on its way the longest, and of
// several in one place the last.
func MountOf(mounts []Mount, p string) (Mount, bool) { return Mount{}, false }

// Option is the value of an option, of this mount or of its file system: "" for
// one without a value.
func (m Mount) Option(name string) (value string, ok bool) { return "", false }
