package jvm

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kt-bench/kt/internal/must"
)

func TestFlagsOfACommandLine(t *testing.T) {
	for _, row := range must.Rows[[]struct {
		Says string
		Args string
		Want Flags
	}](t, "flags") {
		got := ParseFlags(strings.Fields(row.Args))
		diff := cmp.Diff(row.Want, got, cmpopts.EquateEmpty())
		must.True(t, diff == "", "%s: ParseFlags(%s) (-want +got):\n%s", row.Says, row.Args, diff)
	}
}

func TestWhereCollectionsAreLogged(t *testing.T) {
	for args, want := range must.Rows[map[string]string](t, "flags") {
		must.Match(t, want, ParseFlags(append([]string{"java"}, strings.Fields(args)...)).GCLog, "ParseFlags(java %s).GCLog", args)
	}
}

// FuzzParseFlags: no command line panics, sizes are never below 0, and what follows
// the class is the end of the line.
func FuzzParseFlags(f *testing.F) {
	f.Add("java\x00-Xmx1G\x00-XX:+UseG1GC\x00-Dx=y\x00-Xlog:gc*:file=\"a:b\":time\x00-cp\x00x\x00kafka.Kafka\x00a")
	f.Add("java\x00-jar\x00a")
	f.Add("java\x00-XX:\x00-XX:+\x00-D\x00-Xlog:\x00-m")
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, "\x00")
		got := ParseFlags(args)
		must.True(t, got.Xmx >= 0 && got.Xms >= 0, "ParseFlags(%q): Xmx %d, Xms %d", args, got.Xmx, got.Xms)
		if n := len(got.MainArgs); n > 0 && !cmp.Equal(args[len(args)-n:], got.MainArgs) {
			t.Errorf("ParseFlags(%q).MainArgs = %q, not the end of the line", args, got.MainArgs)
		}
	})
}
