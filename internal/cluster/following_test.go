package cluster

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/must"
)

func TestAHostThatIsNotFollowedAnyMoreWaitsForNobodyToTakeItsNews(t *testing.T) {
	bubble(t, []string{"a"}, func(t *testing.T, w *world) {
		dir := t.TempDir()
		s := must.Have(newSession(w.client(), w.order([]string{"a"}), runOptions{Dir: dir}))(t)
		s.connect(t.Context())
		for len(s.wires.news) < cap(s.wires.news) {
			s.wires.news <- hostNews{}
		}
		if err := os.Mkdir(filepath.Join(dir, "a-p1-R.ktr"), 0o700); err != nil { // so that there is news: no copy is kept
			t.Fatal(err)
		}
		f, _ := s.copies.copyOf(fileEntry{RunID: "R", Host: "a", Process: 1}, nil)
		following := &s.hosts[0].following
		following.start(f)
		synctest.Wait()
		following.stop()
		ended := make(chan struct{})
		go func() {
			following.live.Wait()
			close(ended)
		}()
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Error("it waits still")
		}
		s.close()
	})
}
