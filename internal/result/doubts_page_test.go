package result

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

func TestTheDocumentListsTheDoubts(t *testing.T) {
	const name, begin, end = "../../docs/doubts.md", "<!-- doubts: written by go test ./internal/result -run ListsTheDoubts -update -->\n", "<!-- /doubts -->"
	text := string(must.Have(os.ReadFile(name))(t))
	before, rest, _ := strings.Cut(text, begin)
	_, after, found := strings.Cut(rest, end)
	must.Hold(t, found, "%s has no place for the list", name)
	list := "\n| id | what it says | what it means | what to do |\n|---|---|---|---|\n"
	for _, d := range AllDoubts() {
		list += fmt.Sprintf("| `%s` | %s | %s [source](%s) | %s |\n", d.ID, d.Text, d.Means, strings.TrimPrefix(d.Source, "docs/"), d.Next)
	}
	must.Golden(t, name, before+begin+list+"\n"+end+after)
}

func TestEachDoubtIsOneLineWithAReader(t *testing.T) {
	id := regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
	seen := make(map[string]bool)
	for _, row := range doubtRows() {
		must.True(t, id.MatchString(row.ID) && !seen[row.ID], "%s: its id is no name, or is there twice", row.ID)
		seen[row.ID] = true
		must.True(t, doubtReaders[row.ID] == nil || row.Unless.Metric == nil, "%s: it has two conditions", row.ID)
		must.True(t, row.Text != "" && row.Next != "" && row.Means != "" && row.Source != "" && !strings.Contains(row.Text+row.Next, "\n"), "%s: something is not said of it", row.ID)
		_, local := strings.CutPrefix(row.Source, "docs/")
		must.True(t, local || strings.HasPrefix(row.Source, "https://"), "%s: %s is no source", row.ID, row.Source)
		must.True(t, regexp.MustCompile(`%[^s%]`).FindString(row.Text) == "", "%s: only %%s is a verb", row.ID)
		must.True(t, row.Unless.Metric == nil || strings.Count(row.Text, "%s") == 1, "%s: it has not one verb, for the value", row.ID)
	}
	for id := range doubtReaders {
		must.True(t, seen[id], "%s has a reader, and is no doubt", id)
	}
}
