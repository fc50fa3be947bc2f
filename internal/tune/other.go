//go:build !linux

package tune

import (
	"errors"
	"os"
)

func (systemKernel) SetOpenFiles(int, int64, int64, int64) error { return errors.ErrUnsupported }
func (systemKernel) Remount(*os.File, string) error              { return errors.ErrUnsupported }
