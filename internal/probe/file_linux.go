package probe

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// openNameless asks for a file that never had a name, and never can have one.
func openNameless(dir string, direct bool) (*os.File, error) {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_EXCL|unix.O_RDWR|unix.O_CLOEXEC|directFlag(direct), 0o600)
	switch {
	case err == nil:
		return os.NewFile(uintptr(fd), filepath.Join(dir, ".kt-probe")), nil
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EISDIR), errors.Is(err, unix.ENOENT):
		return nil, errors.ErrUnsupported // the two last from kernels that do not know the flag
	case direct && errors.Is(err, unix.EINVAL):
		return nil, errNoDirect
	}
	return nil, &os.PathError{Op: "open", Path: dir, Err: err}
}

func directFlag(direct bool) int {
	if direct {
		return unix.O_DIRECT
	}
	return 0
}

// directIO returns what addresses, offsets and lengths of direct I/O must be multiples of, from Linux 6.1 on; 0: there is none.
func directIO(f *os.File) (align int64, told bool) {
	var s unix.Statx_t
	err := unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_DIOALIGN, &s)
	if s.Dio_offset_align == 0 {
		s.Dio_mem_align = 0
	}
	return int64(max(s.Dio_offset_align, s.Dio_mem_align)), err == nil && s.Mask&unix.STATX_DIOALIGN != 0
}

// uncached finds a file system that takes the flag of open and has no direct I/O all the same: ext4 with data=journal.
func uncached(f *os.File) error {
	if align, told := directIO(f); told && align == 0 {
		return errNoDirect
	}
	return nil
}

// alignment is that of direct I/O where the kernel tells it, else 4096 or the disk's block.
func alignment(f *os.File, logicalBlock int64) int64 {
	if align, told := directIO(f); told && align > 0 {
		return align
	}
	return max(4096, logicalBlock)
}

// allocate takes the space at once, so that direct writes need not grow the file one after the other, if the file system can.
func allocate(f *os.File, size int64) error {
	err := unix.Fallocate(int(f.Fd()), 0, 0, size)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return nil
	}
	return err
}

// settle has what was written to f go to the device, and waits. Unlike a sync it asks for no commit of the journal.
func settle(f *os.File) error {
	const all = unix.SYNC_FILE_RANGE_WAIT_BEFORE | unix.SYNC_FILE_RANGE_WRITE | unix.SYNC_FILE_RANGE_WAIT_AFTER
	err := unix.SyncFileRange(int(f.Fd()), 0, 0, all)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ESPIPE) {
		return unix.Fdatasync(int(f.Fd()))
	}
	return err
}

func dataSync(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }

// forget drops what the page cache has of f, which must be on the device already.
func forget(f *os.File) { _ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED) }

// giveWay gives the calling thread the lowest priority among those that are served.
// The idle class would be lower, and do harm: a commit of ext4's journal waits for
// the data that is part of it, so that everyone's syncs would wait for a write that
// is held back until no one else wants the disk.
func giveWay() {
	const whoThread, classBestEffort, lowest, classShift = 1, 2, 7, 13
	_, _, _ = unix.Syscall(unix.SYS_IOPRIO_SET, whoThread, 0, classBestEffort<<classShift|lowest)
}
