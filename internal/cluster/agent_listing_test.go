package cluster

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/result"
)

// shelf returns a store with one run file of another command.
func shelf(t *testing.T) (s *store, path string) {
	t.Helper()
	shared := t.TempDir()
	s, err := openStore(t.Context(), t.TempDir(), shared, 0, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.root.Close() })
	path = filepath.Join(shared, "1.ktr")
	leave(t, path, "R1", &result.Part{Run: "n", Host: "vm1", Process: 1}, 1000)
	return s, path
}

func TestAFileIsReadOnceForAllListingsUntilItChanges(t *testing.T) {
	s, path := shelf(t)
	list := func() fileEntry {
		found, err := s.list(t.Context(), "n")
		if err != nil || len(found.Files) != 1 || found.Unread != 0 {
			t.Fatalf("found %+v, %v", found, err)
		}
		return found.Files[0]
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	first := list()
	b, _ := os.ReadFile(path)
	b[len(b)-3] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if again := list(); again != first {
		t.Errorf("a file that looks the same was read again: %+v", again)
	}
	if err := os.Chtimes(path, info.ModTime(), info.ModTime().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if again := list(); again.SHA256 == first.SHA256 {
		t.Error("a file that has changed was not read again")
	}
}

func TestAFileOfTheRunThatCannotBeReadToItsEndIsCounted(t *testing.T) {
	s, _ := shelf(t)
	all, err := s.held()
	if err != nil || len(all) != 1 {
		t.Fatalf("held %+v, %v", all, err)
	}
	all[0].size++ // it has become shorter since
	if sum, err := s.sum(t.Context(), all[0]); err == nil {
		t.Errorf("its checksum is %s", sum)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if found, err := s.list(ctx, "n"); err == nil {
		t.Errorf("for somebody who has gone %+v was read", found)
	}
}

func TestAFileThatWasListedIsFoundWithoutALookAtAllOthers(t *testing.T) {
	s, path := shelf(t)
	if _, err := s.list(t.Context(), "n"); err != nil {
		t.Fatal(err)
	}
	leave(t, filepath.Join(s.shared, "2.ktr"), "R2", &result.Part{Run: "n", Host: "vm1", Process: 2}, 1)
	f, err := s.find("R1")
	if err != nil || filepath.Base(f.Name()) != filepath.Base(path) {
		t.Fatalf("found %v, %v", f, err)
	}
	_ = f.Close()
	if s.ids["R2"].name != "" {
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

func TestAListingThatTakesLongIsAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		shared := t.TempDir()
		w.add("a", "client", func(o *AgentOptions) { o.Shared = shared })
		leave(t, filepath.Join(shared, "1.ktr"), "R1", &result.Part{Run: "n", Host: "a", Process: 1}, 1)
		left := 2 * fetchRetries
		c := w.client()
		c.conn.Transport = trip(func(r *http.Request) (*http.Response, error) {
			if !strings.HasSuffix(r.URL.Path, "/files") || left == 0 {
				return w.RoundTrip(r)
			}
			left--
			answer := httptest.NewRecorder()
			reply(answer, nil, &refusal{http.StatusServiceUnavailable, problem{Error: "3 of the 9 files of run n are not read yet: ask again", Again: true}})
			return answer.Result(), nil
		})
		if files, problems := c.Results(t.Context(), w.peers("a"), "n", t.TempDir()); len(files) != 1 || len(problems) > 0 {
			t.Errorf("files %q, problems %v", files, problems)
		}
		w.end()
	})
}

// FuzzReadHeader checks that the names in a header can be parts of file names, for every file.
func FuzzReadHeader(f *testing.F) {
	f.Add(`{"header":{"run_id":"R","started_at":"2026-01-01T00:00:00Z","part":{"run":"n","host":"vm1","process":1}}}` + "\n{")
	f.Add(`{"header":{"run_id":"../R","part":{"run":"n","host":"vm1"}}}` + "\n")
	f.Add(`{"header":{"run_id":"R","part":{"run":"n","epoch":"/","host":"vm1"}}}` + "\n")
	f.Add(`{"header":{"part":null}}` + "\n")
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
		if h.Part.Process < 0 || !strings.Contains(text, "\n") {
			t.Errorf("%q is taken as %+v", text, h)
		}
	})
}
