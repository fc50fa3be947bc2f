package host

import (
	"errors"
	"strings"
)

// Sysctl is a kernel setting as a file sets it at boot.
type Sysctl struct {
	Key   string // "vm.swappiness"
	Value string
	File  string // "/etc/sysctl.d/99-sysctl.conf"
	Line  int
}

// Sysctls are the kernel settings that files set, by key, in the order in which
// systemd-sysctl reads them: the last one wins. Files are ordered by their base
// names over all folders; of two with one name the folder named first in
// sysctl.d(5) wins and the other is not read. /etc/sysctl.conf comes last, as
// procps reads it, and only if no link below sysctl.d already leads to it.
func (f FS) Sysctls() (map[string][]Sysctl, error) { return nil, errors.ErrUnsupported }

// SysctlFile is the file of a kernel setting: "proc/sys/vm/swappiness".
func SysctlFile(key string) string { return "proc/sys/" + strings.ReplaceAll(key, ".", "/") }
