package cmd

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/report"
)

// The linker sets these in a release; see the Makefile.
var (
	version = ""
	commit  = ""
	date    = ""
)

// build is what this binary was made from, as kt version --output json writes it.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Dirty    bool   `json:"dirty"`
	Date     string `json:"date,omitempty"`
	Go       string `json:"go"`
	FranzGo  string `json:"franz_go,omitempty"`
	Platform string `json:"platform"`
}

// newVersion prints the line of --version, and the parts that an issue report needs.
func newVersion(env *Env) *cobra.Command {
	forms := []string{"text", "json"}
	return command[*string]{
		flags: func(set *pflag.FlagSet) *string {
			return set.StringP("output", "o", "text", "`FORMAT`: "+strings.Join(forms, " or "))
		},
		values: map[string][]string{"output": forms},
		run: func(_ context.Context, env *Env, output *string, _ []string) (*finding, error) {
			b := buildVersion()
			switch *output {
			case "json":
				return nil, report.Indented(env.Stdout, b)
			case "text":
				parts := []string{b.Go}
				if b.FranzGo != "" { // a test binary does not record its modules
					parts = append(parts, "franz-go "+b.FranzGo)
				}
				return text(fmt.Sprintf("kt %s\n%s\n", b, strings.Join(append(parts, b.Platform), ", "))), nil
			}
			return nil, usageError(fmt.Errorf("--output %q: not a form of output; use %s", *output, strings.Join(forms, " or ")))
		},
	}.of(env, &cobra.Command{Use: "version", Short: "Print the versions of kt, Go and franz-go"})
}

// buildVersion describes this binary.
func buildVersion() build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return build{Version: version, Commit: commit, Date: date, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}.complete(info)
}

// complete fills what the linker left empty with what Go recorded in the binary.
func (b build) complete(info *debug.BuildInfo) build {
	if b.Version == "" && info.Main.Version != "(devel)" {
		b.Version = info.Main.Version
	}
	if b.Version == "" {
		b.Version = "devel"
	}
	b.Dirty = strings.HasSuffix(b.Version, "dirty")
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && b.Commit == "":
			b.Commit = s.Value
		case s.Key == "vcs.time" && b.Date == "":
			b.Date = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			b.Dirty = true
		}
	}
	for _, m := range info.Deps {
		if m.Path == "github.com/twmb/franz-go" {
			b.FranzGo = m.Version
		}
	}
	return b
}

// String returns the version with its commit. The version that Go gives a build without a tag has the
// commit, its time and "dirty" in it.
func (b build) String() string {
	commit := b.Commit[:min(12, len(b.Commit))]
	if strings.Contains(b.Version, commit) { // also none
		return b.Version
	}
	s := b.Version + " (" + commit
	if b.Dirty {
		s += " dirty"
	}
	if b.Date != "" {
		s += ", " + b.Date
	}
	return s + ")"
}
