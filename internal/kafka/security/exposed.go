package security

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// line matches the number of a line behind the name of a file.
var line = regexp.MustCompile(`:\d+$`)

// exposed warns of secrets that other users of this host can read: on the command line, which is in the list of
// processes, and in files. Those are stores with a private key, keytabs, tokens, and the files that secret properties
// came from.
func (v *values) exposed() (warnings []string) {
	files := slices.Clone(v.files)
	for _, p := range Properties() {
		if !p.Secret || !v.has(p.Name) {
			continue
		}
		source := v.given[p.Name].Source
		if strings.HasPrefix(source, "--") {
			warnings = append(warnings, fmt.Sprintf("other users of this host can read %s in the list of processes: give it in a file, with --command-config", p.Name))
		}
		files = append(files, line.ReplaceAllString(source, ""))
	}
	slices.Sort(files)
	for _, file := range slices.Compact(files) {
		const others = 0o044 // may read, of the group and of everybody
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&others != 0 {
			warnings = append(warnings, fmt.Sprintf("%s holds a secret, and other users of this host can read it: chmod 600 %s", file, file))
		}
	}
	return warnings
}
