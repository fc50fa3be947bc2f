package host

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Mount is a file system in its place.
type Mount struct {
	Point        string // "/data/kafka1"
	Type         string // "xfs"
	Source       string // "/dev/sda1"
	Root         string // the part of the file system that is mounted, "/" for all of it
	Major, Minor int    // of the device, as st_dev tells them
	Options      []string
	Super        []string // options of the file system, not of this mount of it
}

// ParseMounts reads the text of a mountinfo file, see proc(5). A line that is none is an error that shows it. Between the
// options and a lone hyphen are any number of fields that kt has no use for:
//
//	36 35 98:0 /mnt1 /mnt2 rw,noatime shared:1 - ext3 /dev/root rw,errors=continue
func ParseMounts(text string) ([]Mount, error) {
	var mounts []Mount
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if line == "" {
			continue
		}
		// Not Fields: a tab in a name is escaped, and a source may be empty.
		fields := strings.Split(line, " ")
		dash := slices.Index(fields, "-")
		if dash < 6 || len(fields) < dash+4 {
			return nil, fmt.Errorf("mountinfo: %q is no line of it", line)
		}
		major, minor, _ := strings.Cut(fields[2], ":")
		a, errMajor := strconv.ParseUint(major, 10, 31)
		b, errMinor := strconv.ParseUint(minor, 10, 31)
		if errMajor != nil || errMinor != nil {
			return nil, fmt.Errorf("mountinfo: %q is no line of it", line)
		}
		mounts = append(mounts, Mount{
			Point: unescape(fields[4]), Type: fields[dash+1], Source: unescape(fields[dash+2]), Root: unescape(fields[3]),
			Major: int(a), Minor: int(b),
			Options: strings.Split(unescape(fields[5]), ","), Super: strings.Split(unescape(fields[dash+3]), ","),
		})
	}
	return mounts, nil
}

// unescape undoes the kernel's octal escapes of space, tab, newline, backslash and hash: "/my\040disk" is "/my disk".
func unescape(s string) string {
	if plain, err := strconv.Unquote(`"` + strings.ReplaceAll(s, `"`, `\042`) + `"`); err == nil {
		return plain
	}
	return s
}

// Mounts returns the file systems that this process sees, in the order in which they
// were mounted.
func (f FS) Mounts() ([]Mount, error) {
	text, err := f.Read("proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	return ParseMounts(string(text))
}

// MountOf returns the mount that a path is in: of those on its way the longest, and of
// several in one place the last. Links in the path are not followed.
func MountOf(mounts []Mount, p string) (Mount, bool) {
	var best Mount
	found := false
	for _, m := range mounts {
		dir := Rel(m.Point)
		within := dir == "." || strings.HasPrefix(Rel(p)+"/", dir+"/") // /data holds /data/a, but not /database
		if within && (!found || len(m.Point) >= len(best.Point)) {
			best, found = m, true
		}
	}
	return best, found
}

// Option returns the value of an option, of this mount or of its file system: "" for
// one without a value.
func (m Mount) Option(name string) (value string, ok bool) {
	for _, list := range [][]string{m.Options, m.Super} {
		for _, o := range list {
			if key, v, _ := strings.Cut(o, "="); key == name {
				return v, true
			}
		}
	}
	return "", false
}

// FileSystems are names of file systems by f_type of statfs(2), for what mountinfo does not show.
var FileSystems = map[int64]string{
	0x58465342: "xfs", 0xEF53: "ext4", 0x9123683E: "btrfs", 0x2FC12FC1: "zfs",
	0x6969: "nfs", 0xFF534D42: "cifs", 0xFE534D42: "smb3", 0x01021997: "9p", 0x00C36400: "ceph", 0x65735546: "fuse", 0x5346414F: "afs", 0x6B414653: "afs",
	-1: "network", 0x794C7630: "overlay", 0x01021994: "tmpfs", 0x858458F6: "ramfs",
}
