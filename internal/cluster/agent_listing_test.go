package cluster

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/result"
)

// shelf returns a store with one run file of another command.
func shelf(t *testing.T) (s *store, path string) {
	t.Helper()
	shared := t.TempDir()
	s = must.Have(openStore(t.Context(), t.TempDir(), shared, 0, time.Now))(t)
	t.Cleanup(func() { _ = s.root.Close() })
	path = filepath.Join(shared, "1.ktr")
	leave(t, path, "R1", &result.Part{Run: "n", Host: "vm1", Process: 1}, 1000)
	return s, path
}

func TestAFileThatWasListedIsFoundWithoutALookAtAllOthers(t *testing.T) {
	s, path := shelf(t)
	must.Have(s.list("n"))(t)
	leave(t, filepath.Join(s.shared, "2.ktr"), "R2", &result.Part{Run: "n", Host: "vm1", Process: 2}, 1)
	f, err := s.find("R1")
	if err != nil || filepath.Base(f.Name()) != filepath.Base(path) {
		t.Fatalf("found %v, %v", f, err)
	}
	_ = f.Close()
	if _, ok := s.known("R2"); ok {
		t.Error("the others were looked at")
	}
	if f, err = s.find("R2"); err != nil { // that is newer than the listing
		t.Fatal(err)
	}
	_ = f.Close()
	if f, err := s.find("R3"); err == nil || !strings.Contains(err.Error(), "there is no run file R3") {
		t.Errorf("found %v, %v", f, err)
	}
}

// FuzzReadHeader checks that the names in a header can be parts of file names, for every file.
func FuzzReadHeader(f *testing.F) {
	f.Add(string(canned.Packed(`{"header":{"run_id":"R","started_at":"2026-01-01T00:00:00Z","part":{"run":"n","host":"vm1","process":1}}}`)))
	f.Add(string(canned.Packed(`{"header":{"run_id":"../R","part":{"run":"n","host":"vm1"}}}`)))
	f.Add(string(canned.Packed(`{"header":{"run_id":"R","part":{"run":"n","epoch":"/","host":"vm1"}}}`)))
	f.Add(string(canned.Packed(`{"header":{"part":null}}`)))
	f.Add(`{"collection":{"schema":2}}` + "\n")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		h := readHeader(strings.NewReader(text))
		if h == nil {
			return
		}
		for _, name := range []string{h.RunID, h.Part.Run, h.Part.Host, "E" + h.Part.Epoch} {
			if filepath.Base(name) != name || len(name) > 65 {
				t.Errorf("it is called %q", name)
			}
		}
		if h.Part.Process < 0 {
			t.Errorf("%q is taken as %+v", text, h)
		}
	})
}
