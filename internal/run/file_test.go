package run

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/plan"
)

func TestARunFileIsNamedAfterItsRun(t *testing.T) {
	var files []*File
	defer func() {
		for _, f := range files {
			f.Discard()
		}
	}()
	dir := filepath.Join(t.TempDir(), "runs")
	at := time.Date(2026, 1, 31, 15, 4, 5, 0, time.UTC)
	for _, r := range []struct{ name, topic, include, want string }{
		{"a topic", "orders", "", "20260131-150405-consume-orders.ktr"},
		{"the same again", "orders", "", "20260131-150405-consume-orders-2.ktr"},
		{"dots", "...", "", "20260131-150405-consume-....ktr"},
		{"a pattern, which is no name", "", "../(a|b).*", "20260131-150405-consume-topics.ktr"},
		{"the longest topic there can be", strings.Repeat("x", 249), "", "20260131-150405-consume-" + strings.Repeat("x", 212) + ".ktr"},
	} {
		t.Run(r.name, func(t *testing.T) {
			p := &plan.Plan{Command: plan.Consume, Topic: plan.Topic{Name: r.topic}, Read: plan.Read{Include: r.include}}
			f, err := CreateFileIn(dir, Stem(p), at)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
			if want := filepath.Join(dir, r.want); f.Path() != want {
				t.Errorf("it is %s, want %s", f.Path(), want)
			}
		})
	}
}
