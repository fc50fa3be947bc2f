package tune

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/kt-bench/kt/internal/host"
)

// findDirs looks at the log directories. One that was asked for by name must exist.
func (m *Machine) findDirs(asked []string) error {
	names, pid := asked, 0
	if len(asked) == 0 && m.Process != nil {
		pid = m.Process.PID
		if m.Config.Err == nil && len(m.Config.Values) > 0 {
			names = m.Config.LogDirs()
		}
	}
	mounts, mountsErr := m.mountsFor(pid)
	if mountsErr != nil {
		mountsErr = errors.New("the mounted file systems are not known: " + mountsErr.Error()) // not one that says what the disks lack
	}
	var problems []error
	for _, name := range names {
		through := m.through(pid, name)
		real := m.follow(through, name)
		file := path.Join(through, host.Rel(real))
		d := Dir{Path: path.Clean(name), File: "/" + file, Err: mountsErr}
		var entries []string
		var problem error
		switch entries, d.ListErr = m.Names(file); {
		case errors.Is(d.ListErr, fs.ErrPermission):
		case d.ListErr != nil:
			problem = fmt.Errorf("--dirs %s: it is no directory that can be read", name)
		case len(entries) == 0 && !m.Exists(file):
			problem = fmt.Errorf("--dirs %s: there is no such directory", name)
			d.Err = cmp.Or(d.Err, fmt.Errorf("%s: %w", name, fs.ErrNotExist))
		default:
			d.Partitions, d.Segments, d.ListErr = m.count(file, entries)
		}
		if len(asked) > 0 {
			problems = append(problems, problem)
		}
		if d.Err == nil {
			d.Err = m.findStorage(&d, real, mounts)
		}
		m.Dirs = append(m.Dirs, d)
	}
	return errors.Join(problems...)
}

func (m *Machine) findStorage(d *Dir, real string, mounts []host.Mount) (err error) {
	var ok bool
	if d.Mount, ok = host.MountOf(mounts, real); !ok {
		return fmt.Errorf("%s: no mounted file system is known", d.Path)
	}
	// Network file systems and tmpfs have no device; their checks go by the type.
	d.Storage, _ = m.StorageOf(d.Mount)
	d.Space, err = m.Calls.Space(d.File)
	return err
}

var partitionName = regexp.MustCompile(`^.+-[0-9]+$`)

// count counts the partitions of a log directory, TOPIC-N, and their segments.
func (m *Machine) count(dir string, entries []string) (partitions, segments int, err error) {
	for _, e := range entries {
		if !partitionName.MatchString(e) {
			continue
		}
		files, nameErr := m.Names(path.Join(dir, e))
		if nameErr != nil {
			return 0, 0, nameErr
		}
		partitions++
		for _, f := range files {
			if strings.HasSuffix(f, ".log") {
				segments++
			}
		}
	}
	return partitions, segments, nil
}
