//go:build !linux

package tune

import "errors"

func (systemKernel) SetOpenFiles(int, int64, int64, int64) error { return errors.ErrUnsupported }
func (systemKernel) Remount(string, string) error                { return errors.ErrUnsupported }
