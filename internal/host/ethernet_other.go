//go:build !linux

package host

import (
	"errors"
	"fmt"
)

// Ethernet does not know: only Linux is asked.
func (systemCalls) Ethernet(nic string) (Ethernet, error) {
	return Ethernet{}, fmt.Errorf("%s: ethtool: %w", nic, errors.ErrUnsupported)
}
