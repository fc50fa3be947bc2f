//go:build !linux

package host

import "golang.org/x/sys/unix"

// blockSize returns the unit of a file system's sizes.
func blockSize(s *unix.Statfs_t) int64 { return int64(s.Bsize) }

// FlushInput drops nothing: only Linux is asked.
func FlushInput(uintptr) {}
