package cmd

import (
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/deploy"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/tune"
)

// What a unit's StateDirectory names becomes its user's, with all that is in it: root's journal must
// be neither in it nor around it.
func TestNoUnitSharesTheFolderOfTheJournal(t *testing.T) {
	seen := 0
	unit := new(strings.Builder)
	must.Do(t, (deploy.Unit{Words: []string{"kt"}}).Write(unit))
	for line := range strings.Lines(unit.String()) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if strings.HasPrefix(key, "#") || !strings.HasSuffix(key, "Directory") {
			continue
		}
		for dir := range strings.FieldsSeq(value) {
			seen++
			dir = "/var/lib/" + dir + "/"
			if journal := tune.JournalFolder + "/"; strings.HasPrefix(dir, journal) || strings.HasPrefix(journal, dir) {
				t.Errorf("%s shares %s with kt tune's journal", line, dir)
			}
		}
	}
	if seen == 0 {
		t.Error("the unit has no directory of its own any more")
	}
}
