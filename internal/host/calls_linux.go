package host

import "golang.org/x/sys/unix"

// blockSize returns the unit of a file system's sizes: fragments, which differ from Bsize in FUSE.
func blockSize(s *unix.Statfs_t) int64 {
	if s.Frsize != 0 {
		return int64(s.Frsize)
	}
	return int64(s.Bsize)
}
