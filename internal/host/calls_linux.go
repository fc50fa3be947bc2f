package host

import "golang.org/x/sys/unix"

// blockSize returns the unit of a file system's sizes: fragments, which differ from Bsize in FUSE.
func blockSize(s *unix.Statfs_t) int64 {
	if s.Frsize != 0 {
		return int64(s.Frsize)
	}
	return int64(s.Bsize)
}

// FlushInput drops what was typed at a terminal and nobody has read. In the background it drops nothing.
func FlushInput(terminal uintptr) {
	if Foreground(terminal) {
		_ = unix.IoctlSetInt(int(terminal), unix.TCFLSH, unix.TCIFLUSH) // else it is read
	}
}
