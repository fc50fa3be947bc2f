package cmd

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
)

func TestARunFileIsNamedAfterItsRun(t *testing.T) {
	state := t.TempDir()
	env := &Env{
		Getenv: func(name string) string { return map[string]string{"XDG_STATE_HOME": state}[name] },
		Now:    func() time.Time { return time.Date(2026, 1, 31, 15, 4, 5, 0, time.UTC) },
	}
	for _, r := range []struct{ name, topic, include, want string }{
		{"a topic", "orders", "", "20260131-150405-consume-orders.ktr"},
		{"the same again", "orders", "", "20260131-150405-consume-orders-2.ktr"},
		{"dots", "...", "", "20260131-150405-consume-....ktr"},
		{"a pattern, which is no name", "", "../(a|b).*", "20260131-150405-consume-topics.ktr"},
		{"the longest topic there can be", strings.Repeat("x", 249), "", "20260131-150405-consume-" + strings.Repeat("x", 212) + ".ktr"},
	} {
		t.Run(r.name, func(t *testing.T) {
			f, err := openRunFile(env, "", runStem(&plan.Plan{Command: plan.Consume, Topic: plan.Topic{Name: r.topic}, Read: plan.Read{Include: r.include}}))
			if err != nil || f.file == nil {
				t.Fatalf("%+v, %v", f, err)
			}
			defer f.file.Close()
			if want := filepath.Join(state, "kt", "runs", r.want); f.path != want {
				t.Errorf("it is %s, want %s", f.path, want)
			}
		})
	}
}

func TestFoldersThatKilledCommandsHaveLeftAreRemoved(t *testing.T) {
	state, now := t.TempDir(), time.Now()
	env := &Env{
		Getenv: func(name string) string { return map[string]string{"XDG_STATE_HOME": state}[name] },
		Now:    func() time.Time { return now },
	}
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

	dir, remove, err := scratch(env)
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
