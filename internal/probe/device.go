package probe

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/host"
)

// counter reads what the kernel counts on the device that a file system is on.
// Counting there, and not on the disks below, leaves out what a mirror writes
// twice. The zero counter knows nothing.
type counter struct {
	tree host.FS
	name string // in the tree: "sys/dev/block/8:1/stat"
}

// newCounter is for the device number of the file system, or, where that is not a
// real device (btrfs has none), for the device that it was mounted from.
func newCounter(tree host.FS, major, minor int, source string) counter {
	if major != 0 {
		if c := (counter{tree, fmt.Sprintf("sys/dev/block/%d:%d/stat", major, minor)}); c.known() {
			return c
		}
	}
	if device, ok := strings.CutPrefix(source, "/dev/"); ok {
		if c := (counter{tree, "sys/class/block/" + device + "/stat"}); c.known() {
			return c
		}
	}
	return counter{}
}

func (c counter) known() bool {
	return c.name != "" && c.moved(false) >= 0
}

// moved is how many bytes the device has read, or written, since it came; -1 when
// the kernel does not tell.
func (c counter) moved(read bool) int64 {
	if c.name == "" {
		return -1
	}
	text, err := c.tree.Text(c.name)
	if err != nil {
		return -1
	}
	return sectors(text, read)
}

// sectors finds the bytes read or written in the text of a stat file of a block
// device: the third and the seventh field are in sectors of 512 bytes on every
// disk. -1: the text is something else.
func sectors(text string, read bool) int64 {
	fields := strings.Fields(text)
	if len(fields) < 7 {
		return -1
	}
	field := fields[6]
	if read {
		field = fields[2]
	}
	n, err := strconv.ParseInt(field, 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n * 512
}
