package cluster

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
)

func TestFoldersThatKilledCommandsHaveLeftAreRemoved(t *testing.T) {
	state, now := t.TempDir(), time.Now()
	at := func(name string) string { return filepath.Join(state, "kt", name) }
	for _, name := range []string{"collect-stale", "collect-used", "collect-new", "runs"} {
		must.Do(t, os.MkdirAll(filepath.Join(at(name), "x"), 0o700))
	}
	old := now.Add(-8 * 24 * time.Hour)
	for _, name := range []string{"collect-stale", "collect-used", "runs"} {
		must.Do(t, os.Chtimes(at(name), old, old))
	}
	f := must.Have(os.Open(at("collect-used")))(t)
	defer f.Close()
	result.Claim(f)

	dir, remove := must.Both(Scratch(filepath.Join(state, "kt"), now))(t)
	if f, err := os.Open(dir); err != nil || !result.Claimed(f) {
		t.Errorf("the new folder is not claimed: %v", err)
	}
	remove()
	left, _ := filepath.Glob(at("*"))
	must.Match(t, []string{at("collect-new"), at("collect-used"), at("runs")}, left, "left")
}
