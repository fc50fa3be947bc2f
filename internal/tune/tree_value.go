package tune

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/kt-bench/kt/internal/host"
)

var errEnded = errors.New("it has ended")

// normal is a value as kt compares it: the chosen word of a list, or the words with one space between them.
func normal(value string) string {
	if _, after, ok := strings.Cut(value, "["); ok {
		if word, _, ok := strings.Cut(after, "]"); ok {
			value = word
		}
	}
	return strings.Join(strings.Fields(value), " ")
}

// subject is what a change is about: one value of the machine.
type subject struct {
	Kind  Kind   `json:"kind"`
	Path  string `json:"path"`
	PID   int    `json:"pid,omitempty"`
	Start int64  `json:"start,omitempty"`
	// Disk is what a disk says of itself: another may have its name after the next start.
	Disk string `json:"disk,omitempty"`
}

// value returns the value that a file, process or mount has now. The error is errEnded of a process that has ended, and fs.ErrNotExist of a file that is not there.
func (t *Tree) value(s subject) (string, error) {
	switch s.Kind {
	case Prlimit:
		return t.openFiles(s)
	case Remount:
		return t.atime(s.Path)
	}
	var text string
	f, err := host.OpenBelow(t.root, host.Rel(s.Path), os.O_RDONLY)
	if err == nil {
		text, err = textOf(f)
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", s.Path, withoutPath(err))
	}
	return normal(text), nil
}

func (t *Tree) openFiles(s subject) (string, error) {
	p, err := t.host().Process(s.PID)
	if errors.Is(err, fs.ErrNotExist) || err == nil && p.Start != s.Start {
		err = errEnded
	}
	var limits map[string]host.Limit
	if err == nil {
		limits, err = t.host().Limits(s.PID)
	}
	l, ok := limits["Max open files"]
	if err == nil && !ok {
		err = errors.New("its limit of open files cannot be read")
	}
	if err != nil {
		return "", fmt.Errorf("process %d: %w", s.PID, err)
	}
	return limitText(l.Soft) + " " + limitText(l.Hard), nil
}

func limitText(n int64) string {
	if n < 0 || n == unlimited {
		return "unlimited"
	}
	return strconv.FormatInt(n, 10)
}

// parseLimits reads "SOFT HARD"; unlimited is -1.
func parseLimits(value string) (soft, hard int64, err error) {
	words := strings.Fields(value)
	good := len(words) == 2
	var both [2]int64
	for i := range both {
		n, err := wholeOf(words, i)
		good = good && err == nil && (n <= math.MaxInt64 || words[i] == "unlimited")
		both[i] = int64(n)
	}
	if !good {
		return 0, 0, fmt.Errorf("%q is not a soft and a hard limit", value)
	}
	return both[0], both[1], nil
}

// The ways to keep access times.
var atimes = []string{"noatime", "relatime", "strictatime"}

func (t *Tree) atime(point string) (string, error) {
	mounts, err := t.host().Mounts()
	if err != nil {
		return "", err
	}
	m, ok := mountAt(mounts, point)
	if !ok {
		return "", fmt.Errorf("%s: %w: it is no mount point", point, fs.ErrNotExist)
	}
	if i := slices.IndexFunc(m.Options, func(o string) bool { return slices.Contains(atimes, o) }); i >= 0 {
		return m.Options[i], nil
	}
	return "strictatime", nil // the one that is not shown
}

// mountAt is what is mounted in a place: of several the last, which hides the others.
func mountAt(mounts []host.Mount, point string) (host.Mount, bool) {
	for _, m := range slices.Backward(mounts) {
		if m.Point == point {
			return m, true
		}
	}
	return host.Mount{}, false
}

// set gives a value and reads it back.
func (t *Tree) set(s subject, value string) error {
	var err error
	switch s.Kind {
	case Prlimit:
		soft, hard, bad := parseLimits(value)
		if bad != nil {
			return bad
		}
		err = t.kernel.SetOpenFiles(s.PID, s.Start, soft, hard)
	case Remount:
		err = t.with(s.Path, unix.O_DIRECTORY, func(f *os.File) error { return t.kernel.Remount(f, value) })
	default: // never os.O_CREATE: what is not there is no setting
		err = t.with(s.Path, os.O_RDWR, func(f *os.File) error { return t.kernel.Write(f, value) })
	}
	if err != nil {
		return fmt.Errorf("set %s: %w", s.Path, withoutPath(err))
	}
	t.did("set", s.Path)
	now, err := t.value(s)
	if err != nil {
		return err
	}
	if now != normal(value) {
		return &tookError{s.Path, value, now}
	}
	return nil
}

// with opens a file or folder below the root for a function, and closes it.
func (t *Tree) with(p string, flag int, do func(*os.File) error) error {
	f, err := host.OpenBelow(t.root, host.Rel(p), flag)
	if err != nil {
		return err
	}
	return errors.Join(do(f), f.Close())
}

// diskName tells what disk it is whose file this is: "/sys/block/sda/queue/scheduler"; "" for none, and for one that does not say.
func (t *Tree) diskName(p string) string {
	rest, ok := strings.CutPrefix(p, "/sys/block/")
	disk, _, _ := strings.Cut(rest, "/")
	for _, name := range []string{"wwid", "device/wwid", "serial", "device/serial", "dm/uuid", "md/uuid"} {
		if s, err := t.host().Text("sys/block/" + disk + "/" + name); ok && err == nil && s != "" {
			return s
		}
	}
	return ""
}
