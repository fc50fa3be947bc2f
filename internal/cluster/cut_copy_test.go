package cluster

import (
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/run"
)

func TestACopyThatCannotBeCompletedIsKeptAsFarAsItCame(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		w.add("a", "client", unwatched)
		w.add("b", "client", unwatched)
		c := w.client()
		c.conn.Transport = trip(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host != "b" || !strings.HasPrefix(r.URL.Path, "/v1/files/") {
				return w.RoundTrip(r)
			}
			answer, err := w.RoundTrip(r)
			if err == nil {
				offset, _ := strconv.Atoi(r.FormValue("offset"))
				answer.Body = &flaky{answer.Body, 2<<10 - offset} // the file has more
			}
			return answer, err
		})
		o := w.order([]string{"a", "b"})
		o.Processes = 1
		out, err := c.run(t.Context(), o, runOptions{Dir: t.TempDir()})
		if err != nil || len(out.Files) != 2 || !strings.HasPrefix(filepath.Base(out.Files[1]), "b-p1-") {
			t.Errorf("files %q, %v; want that of a, and the copy of b's", out.Files, err)
		}
		if len(out.Lost) != 1 || !strings.Contains(out.Lost[0], "b, process 1: "+errBroken.Error()) {
			t.Errorf("lost: %q", out.Lost)
		}
	})
}

func TestNoSecondWaitsForAProcessThatHasDied(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		w.add("a", "client").behave = onlyIn(2, behaviour{diesAt: 3 * time.Second})
		var start time.Time
		late := make(map[time.Duration]time.Duration) // by the end of the second
		observe := func(s run.Second) {
			if s.StartsIn > 0 {
				start = time.Now().Add(s.StartsIn)
			}
			if n := len(s.Windows); n > 0 {
				end := s.Windows[n-1].End
				late[end] = time.Since(start) - end
			}
		}
		must.Have(w.client().run(t.Context(), longer(w.order([]string{"a"}), 12*time.Second), runOptions{Dir: t.TempDir(), Observe: observe}))(t)
		for end := 6 * time.Second; end < 12*time.Second; end += time.Second {
			if d, ok := late[end]; !ok || d >= 1500*time.Millisecond {
				t.Errorf("second %v was shown %v late (%v): it waited", end, d, ok)
			}
		}
	})
}
