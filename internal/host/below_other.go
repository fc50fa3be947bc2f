//go:build !linux

package host

import (
	"os"
	"syscall"
)

// pathOnly opens a place without reading from it.
const pathOnly = os.O_RDONLY | syscall.O_NONBLOCK

func openBelow(dir, name string, flag int) (*os.File, error) { return openStrictly(dir, name, flag) }
