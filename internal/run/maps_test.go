package run

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/host/watch"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/stats"
)

func TestABrokerNearItsMemoryMapsIsToldOnce(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	tree := fstest.MapFS{
		"proc/sys/vm/max_map_count": file("1000\n"),
		"proc/42/cmdline":           file("java\x00kafka.Kafka\x00server.properties\x00"),
		"proc/42/exe":               file(""),
		"proc/42/stat":              file("42 (java) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 50 0 8700 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"),
		"proc/42/status":            file("Uid:\t0\t0\t0\t0\nNSpid:\t42\n"),
		"proc/42/maps":              file(strings.Repeat("area\n", 500)),
	}
	b := &machine{Watcher: watch.New(host.NewFS(tree)), told: make(map[int]bool)}
	b.look(0)
	w := b.Take()
	must.True(t, len(w.Events) == 0, "with half of them: %+v", w.Events)
	tree["proc/42/maps"] = file(strings.Repeat("area\n", 850))
	b.Watcher = watch.New(host.NewFS(tree)) // it looks at processes every ten seconds
	b.look(time.Second)
	b.look(2 * time.Second)
	e := b.Take().Events
	must.True(t, len(e) == 1 && e[0].Kind == stats.MapsNear && e[0].At == time.Second, "with 85 %% of them: %+v", e)
}
