package workload

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

// known has the flags of the rows.
func known(command, flag string) error {
	if slices.Contains(strings.Fields("rate topic limit result"), flag) {
		return nil
	}
	return fmt.Errorf("%s has no %s", command, flag)
}

func TestAWorkloadIsReadOrRefusedWithThePlace(t *testing.T) {
	for _, row := range must.Rows[[]struct {
		Text         string
		Loads, Wrong []string
	}](t, "spec") {
		l, err := Parse("w.yaml", []byte(row.Text), known)
		var wrong, loads []string
		if err != nil {
			wrong = strings.Split(err.Error(), "\n")
		} else {
			loads = must.Have(Of(l))(t).Names()
		}
		must.Match(t, row.Wrong, wrong, "%s", row.Text)
		must.Match(t, row.Loads, loads, "%s", row.Text)
	}
}
