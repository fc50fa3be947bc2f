package cmd

import (
	"runtime/debug"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

func TestGoKnowsTheBuildWhereTheLinkerSetNothing(t *testing.T) {
	info := &debug.BuildInfo{
		Main: debug.Module{Version: "(devel)"},
		Deps: []*debug.Module{{Path: "github.com/twmb/franz-go", Version: "v1.2.3"}, {Path: "github.com/twmb/franz-go/pkg/kmsg", Version: "v9"}},
		Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: "true"},
		},
	}
	b := build{}.complete(info)
	must.Match(t, []string{"devel (0123456789ab dirty, 2026-01-02T03:04:05Z)", "v1.2.3"}, []string{b.String(), b.FranzGo}, "%s, franz-go %s", b, b.FranzGo)
	b = build{Version: "1.0.0", Commit: "fedcba", Date: "today"}.complete(&debug.BuildInfo{})
	must.Match(t, "1.0.0 (fedcba, today)", b.String(), "%s", b)

	// Of a build in a checkout without a tag, Go's version says all.
	info.Main.Version, info.Settings[0].Value = "v0.0.0-20261123061815-1d5a29bfe2b7+dirty", "1d5a29bfe2b75918113"
	b = build{}.complete(info)
	if b.String() != info.Main.Version || !b.Dirty {
		t.Errorf("%s, dirty: %v; want %s", b, b.Dirty, info.Main.Version)
	}
}
