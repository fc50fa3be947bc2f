package host

import "errors"

// Process is a program that runs.
type Process struct {
	PID   int
	Args  []string
	UID   int
	Start int64  // in ticks since the machine started: with the PID it names the process for good
	Dir   string // working directory; "" when it may not be read
	Unit  string // the systemd unit that it runs in: "kafka.service"; "" for none
}

// Limit is a resource limit. -1 is unlimited.
type Limit struct{ Soft, Hard int64 }

// Processes are those that run here and have a command line, by PID. One that
// ends while it is looked at is left out.
func (f FS) Processes() ([]Process, error) { return nil, errors.ErrUnsupported }

// Limits are a process's resource limits under the kernel's names: "Max open files".
func (f FS) Limits(pid int) (map[string]Limit, error) { return nil, errors.ErrUnsupported }

// MappedAreas counts a process's memory mappings, of which vm.max_map_count allows
// so many. Only root and the process's own user may count.
func (f FS) MappedAreas(pid int) (int, error) { return 0, errors.ErrUnsupported }

// OpenFiles counts a process's open files and connections. Only root and the
// process's own user may count.
func (f FS) OpenFiles(pid int) (int, error) { return 0, errors.ErrUnsupported }
