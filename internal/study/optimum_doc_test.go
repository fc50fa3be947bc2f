package study

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

const optima = "../report/page/testdata/optima.json"

func readOptima(t *testing.T) (all map[string]*Document) {
	t.Helper()
	must.Do(t, json.Unmarshal(must.Have(os.ReadFile(optima))(t), &all))
	return all
}

// The searches that pages are tested with say what kt would.
func TestWhatASearchForTheBestSettingsSays(t *testing.T) {
	for name, d := range readOptima(t) {
		must.Match(t, d.Study.Optimum.sentence(d), d.Sentence, name)
		must.Match(t, d.Study.copied(d.Optimum.Best.At), d.Optimum.Best.Copied, name)
	}
}
