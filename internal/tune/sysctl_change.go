package tune

import (
	"fmt"
	"slices"

	"github.com/kt-bench/kt/internal/suggest"
)

// SysctlTo returns the change of a kernel setting to a value, from what is there now. It lasts until the machine
// starts again. Only the settings that kt tune can change are known, and only values in their ranges.
func (t *Tree) SysctlTo(key, value string) (Change, error) {
	keys := changeable()
	if !slices.Contains(keys, key) {
		hint := "kt tune --list shows what kt changes"
		if n := suggest.Nearest(key, keys); n != "" {
			hint = "did you mean " + n + "?"
		}
		return Change{}, fmt.Errorf("sysctl %s is not among the kernel settings that kt changes; %s", key, hint)
	}
	c := Change{Kind: WriteFile, Path: "/proc/sys/" + sysctlPath(key), New: decimals(normal(value))}
	c.Setting = targets()[slices.IndexFunc(targets(), func(t target) bool { return t.Path == c.Path })].setting
	c.Pair = otherOfPair(c.Path)
	var err error
	if c.Old, c.PairOld, err = t.readPair(subject{Kind: WriteFile, Path: c.Path}); err != nil {
		return Change{}, err
	}
	return c, c.checkNew()
}

// changeable returns the kernel settings that kt can change, by their own names.
func changeable() (keys []string) {
	for _, key := range catalogueSysctls() {
		if slices.ContainsFunc(targets(), func(t target) bool { return t.Path == "/proc/sys/"+sysctlPath(key) }) {
			keys = append(keys, key)
		}
	}
	return keys
}
