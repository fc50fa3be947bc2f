package cluster

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/result"
)

func TestFoldersThatKilledCommandsHaveLeftAreRemoved(t *testing.T) {
	state, now := t.TempDir(), time.Now()
	at := func(name string) string { return filepath.Join(state, "kt", name) }
	for _, name := range []string{"collect-stale", "collect-used", "collect-new", "runs"} {
		if err := os.MkdirAll(filepath.Join(at(name), "x"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	old := now.Add(-8 * 24 * time.Hour)
	for _, name := range []string{"collect-stale", "collect-used", "runs"} {
		if err := os.Chtimes(at(name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(at("collect-used"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	result.Claim(f)

	dir, remove, err := Scratch(filepath.Join(state, "kt"), now)
	if err != nil {
		t.Fatal(err)
	}
	if f, err := os.Open(dir); err != nil || !result.Claimed(f) {
		t.Errorf("the new folder is not claimed: %v", err)
	}
	remove()
	left, _ := filepath.Glob(at("*"))
	if want := []string{at("collect-new"), at("collect-used"), at("runs")}; !slices.Equal(left, want) {
		t.Errorf("left are %q, want %q", left, want)
	}
}
