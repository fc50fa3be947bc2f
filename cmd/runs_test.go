package cmd

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/cluster"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/result"
)

func TestAFileThatIsBeingWrittenIsMergedAndToldOf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.ktr")
	file := must.Have(os.Create(path))(t)
	result.Claim(file)
	f := must.Have(result.NewRunFile(file, result.Header{Schema: result.Schema, RunID: "R"}))(t)
	m := newMerger(nil)
	defer m.close()
	must.Do(t, m.addPath(path))
	want := path
	must.True(t, m.going() != nil && strings.Contains(m.going().Error(), want), "the problem is %v, want %q", m.going(), want)
	got := m.RunFiles()[0].State
	must.True(t, got == result.PartRunning, "its part is %q, want running", got)
	must.Do(t, f.Close(result.Trailer{Ended: result.Completed}))
	whole := newMerger(nil)
	defer whole.close()
	must.Err(t, "", errors.Join(whole.addPath(path), whole.going()), "when it is over")
}

func TestARunThatNobodyHasIsToldInOneLine(t *testing.T) {
	silent := errors.New("vm2: connection refused")
	for _, tc := range []struct {
		problem error
		want    string
	}{
		{&cluster.UnknownRunError{Run: "nigthly", Known: []string{"nightly", "weekly"}}, "no agent has run files of run nigthly; did you mean nightly?"},
		{&cluster.UnknownRunError{Run: "x"}, "no agent has run files of run x: "},
		{silent, silent.Error()},
	} {
		err := nothingFetched([]error{tc.problem})
		must.True(t, strings.HasPrefix(err.Error(), tc.want), "%v, want %q", err, tc.want)
	}
}

func TestAHostWithoutAPartInTheRunIsNoProblemOfIt(t *testing.T) {
	away := &cluster.PeerError{Peer: "vm15", Err: errors.New("no route to host")}
	for _, tc := range []struct {
		name  string
		part  *result.Part
		keeps bool
	}{
		{"no part", &result.Part{Roster: []result.Member{{Host: "vm14"}, {Host: "vm16"}}}, false},
		{"a part", &result.Part{Roster: []result.Member{{Host: "vm14"}, {Host: "vm15"}}}, true},
		{"parts that are not listed", &result.Part{Run: "nightly"}, true},
		{"a run of its own", nil, true},
	} {
		var said strings.Builder
		env := Env{Stderr: &said}
		kept := env.withoutOthers([]error{away}, &result.Result{Header: result.Header{Part: tc.part}})
		must.True(t, (len(kept) == 1) == tc.keeps && strings.Contains(said.String(), "vm15") != tc.keeps,
			"%s: kept %v, said %q", tc.name, kept, said.String())
	}
}

func TestAPageTakesThePlaceOfAnOlderOneWhenItIsComplete(t *testing.T) {
	dir := t.TempDir()
	env := Env{Getenv: func(string) string { return "" }, HomeDir: dir, Now: time.Now, Stdout: io.Discard}
	runs := env.runsFolder().Dir
	must.Do(t, os.MkdirAll(runs, 0o700))
	path := filepath.Join(runs, "20261121-121025-produce-orders.ktr")
	must.Do(t, os.WriteFile(path, canned.Packed(`{"header":{"schema":2,"run_id":"x","plan":{"command":"produce","topic":{"name":"orders"},"load":{"rate":"100"}}}}`), 0o600))
	to := env.pageOf(path)
	must.Match(t, filepath.Join(dir, ".cache", "kt", "pages", "20261121-121025-produce-orders.html"), to, "the page")
	torn := func(w io.Writer, _ result.Result, _ report.Options) error {
		_, _ = io.WriteString(w, "half a page")
		return errors.New("no space left on device")
	}
	for _, r := range []struct {
		format report.Format
		fails  bool
	}{{torn, true}, {report.Text, false}, {torn, true}, {report.JSON, false}, {report.JSON, false}} {
		before, _ := os.ReadFile(to) // there is none at first
		f, err := openRun(path)
		must.Hold(t, err == nil, "%v", err)
		err = env.makePage(f, path, r.format, to)
		f.Close()
		after, _ := os.ReadFile(to)
		must.True(t, (err != nil) == r.fails && (!r.fails || bytes.Equal(before, after)) && (r.fails || len(after) != 0),
			"error %v; %d bytes became %d", err, len(before), len(after))
	}
	files, _ := os.ReadDir(filepath.Dir(to))
	must.True(t, len(files) == 1, "it left %v", files)
}

func TestAPageIsInTheCacheFolder(t *testing.T) {
	env := Env{Getenv: func(name string) string { return map[string]string{"XDG_CACHE_HOME": "/c"}[name] }}
	one, other := env.pageOf("/x/a.ktr"), env.pageOf("/y/a.ktr")
	must.True(t, filepath.Dir(one) == "/c/kt/pages" && filepath.Ext(one) == ".html" && one != other,
		"of two runs of one name the pages are %s and %s", one, other)
	env.Getenv = func(string) string { return "" }
	must.Match(t, "", env.pageOf("runs/a.ktr"), "without a home folder it")
}

func TestABrowserIsNotWaitedFor(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"xdg-open", "open"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\nexec sleep 20\n"), 0o755))
	}
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	env := Env{Getenv: func(string) string { return ":0" }, StdoutTTY: true}
	from := time.Now()
	err := env.browse("/nowhere/page.html")
	must.True(t, err == nil && time.Since(from) <= 10*time.Second, "after %v: %v", time.Since(from), err)
}

func TestABrowserIsOpenedOnlyAtADesktop(t *testing.T) {
	env := Env{Getenv: func(string) string { return "" }, StdoutTTY: true}
	must.Err(t, "", env.browse("/nowhere/page.html"), "without a desktop")
}
