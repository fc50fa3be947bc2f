package cluster

import (
	"os"
	"testing"
	"testing/synctest"

	"github.com/kt-bench/kt/internal/result"
)

func (w *world) run(o Order, opts ...func(*RunOptions)) (Outcome, error) {
	r := RunOptions{Dir: w.t.TempDir()}
	for _, c := range opts {
		c(&r)
	}
	return w.client().Run(w.t.Context(), o, r)
}

// replay is what a run file holds.
func replay(t *testing.T, path string) result.Result {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fold, err := result.Replay(f)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return fold.Result()
}

func TestThreeHostsMakeOneLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for _, n := range []string{"a", "b", "c"} {
			w.add(n, "client")
		}
		w.add("broker", "broker")
		defer w.end()
		o := w.order([]string{"c", "a", "b"}, "broker")
		out, err := w.run(o)
		if err != nil {
			t.Fatal(err)
		}
		if len(out.Files) != 3*2+4 || len(out.Lost) > 0 {
			t.Errorf("files %q, lost %q", out.Files, out.Lost)
		}
	})
}
