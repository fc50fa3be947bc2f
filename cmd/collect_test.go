package cmd

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/cluster"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
)

func TestAFileThatIsBeingWrittenIsMergedAndToldOf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.ktr")
	file := must.Have(os.Create(path))(t)
	result.Claim(file)
	f := must.Have(result.NewRunFile(file, result.Header{Schema: result.Schema, RunID: "R"}))(t)
	m := newMerger(nil)
	defer m.close()
	must.Do(t, m.addPath(path))
	if want := path; m.going() == nil || !strings.Contains(m.going().Error(), want) {
		t.Errorf("the problem is %v, want %q", m.going(), want)
	}
	if got := m.RunFiles()[0].State; got != result.PartRunning {
		t.Errorf("its part is %q, want running", got)
	}
	must.Do(t, f.Close(result.Trailer{Ended: result.Completed}))
	whole := newMerger(nil)
	defer whole.close()
	must.Err(t, "", errors.Join(whole.addPath(path), whole.going()), "when it is over")
}

func TestARunThatNobodyHasIsToldInOneLine(t *testing.T) {
	silent := errors.New("vm2: connection refused")
	for _, tc := range []struct {
		problem error
		want    string
	}{
		{&cluster.UnknownRunError{Run: "nigthly", Known: []string{"nightly", "weekly"}}, "no agent has run files of run nigthly; did you mean nightly?"},
		{&cluster.UnknownRunError{Run: "x"}, "no agent has run files of run x: "},
		{silent, silent.Error()},
	} {
		if err := nothingFetched([]error{tc.problem}); !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%v, want %q", err, tc.want)
		}
	}
}
