package tune

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/kt-bench/kt/internal/host"
)

func (systemKernel) SetOpenFiles(pid int, start, soft, hard int64) error {
	// The process that was meant may have ended, and its number may be another's by now.
	p, err := host.System().Process(pid)
	if err != nil || p.Start != start {
		return fmt.Errorf("process %d: %w", pid, errEnded)
	}
	// -1 as an unsigned number is RLIM_INFINITY.
	limit := unix.Rlimit{Cur: uint64(soft), Max: uint64(hard)}
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &limit, nil); err != nil {
		return fmt.Errorf("process %d: prlimit: %w", pid, err)
	}
	return nil
}

// What a mount has besides how it keeps access times.
var mountFlags = map[string]uintptr{
	"ro":          unix.MS_RDONLY,
	"nosuid":      unix.MS_NOSUID,
	"nodev":       unix.MS_NODEV,
	"noexec":      unix.MS_NOEXEC,
	"nodiratime":  unix.MS_NODIRATIME,
	"nosymfollow": unix.MS_NOSYMFOLLOW,
}

var atimeFlags = map[string]uintptr{
	"noatime":     unix.MS_NOATIME,
	"relatime":    unix.MS_RELATIME,
	"strictatime": unix.MS_STRICTATIME,
}

func (systemKernel) Remount(at *os.File, atime string) error {
	mounts, err := host.System().Mounts()
	if err != nil {
		return err
	}
	// The folder stays what it is, whatever becomes of the names that led to it.
	folder := fmt.Sprintf("/proc/self/fd/%d", at.Fd())
	point, err := os.Readlink(folder)
	if err != nil {
		return err
	}
	m, ok := mountAt(mounts, point)
	if !ok {
		return fmt.Errorf("%s is no mount point", point)
	}
	// With MS_BIND the flags are those of this mount alone, not of the file system.
	flags := uintptr(unix.MS_REMOUNT|unix.MS_BIND) | atimeFlags[atime]
	for _, o := range m.Options {
		flags |= mountFlags[o]
	}
	if err := unix.Mount("none", folder, "", flags, ""); err != nil {
		return fmt.Errorf("remount %s: %w", point, err)
	}
	return nil
}
