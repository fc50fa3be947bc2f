package jvm

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/must"
)

func TestAJVMTakesItsOptionsFromMoreThanItsCommandLine(t *testing.T) {
	files := must.Rows[map[string]string](t, "command_files")
	read := func(name string) (string, error) {
		text, ok := files[name]
		if !ok {
			return "", fmt.Errorf("%s: %w", name, fs.ErrNotExist)
		}
		return text, nil
	}
	for _, row := range must.Rows[[]struct {
		Says    string
		Args    string
		Environ string
		Want    string
		Problem bool
	}](t, "command") {
		got, err := Complete(strings.Split(row.Args, "|"), strings.Split(row.Environ, "|"), read)
		diff := cmp.Diff(strings.Split(row.Want, "|"), got)
		must.True(t, diff == "" && (err != nil) == row.Problem, "%s: error %v (-want +got):\n%s", row.Says, err, diff)
	}
}

func TestWhatAJVMPublishesCountsBeforeItsCommandLine(t *testing.T) {
	long := "-Da=" + strings.Repeat("x", 1000)
	for _, row := range []struct {
		says, line, published, flags string
		xmx                          int64
		d, gc                        string
	}{
		{"nothing is published", "java|-Xmx1g|M", "", "", 1 << 30, "", ""},
		{"a variable that nobody may read", "java|-Xmx4g|M", "-Xmx4g -Xmx512m", "", 512 << 20, "", ""},
		{"a file that is gone", "java|M|-Xmx1g", "-XX:+UseParallelGC -Xmx2g", "", 2 << 30, "", "UseParallelGC"},
		{"a file of flags", "java|M", "-Xmx2g", "+UseSerialGC MaxHeapSize=1g", 2 << 30, "", "UseSerialGC"},
		{"an option with spaces", "java|-Dd=a -Xmx9g|-Xmx1g|M", "-Dd=a -Xmx9g -Xmx1g -XX:OnError=kill -9 %p", "", 1 << 30, "a -Xmx9g", ""},
		{"a text that was cut", "java|" + long + "|-Xmx4g|M|-Xmx8g", (long + strings.Repeat(" -Dz=z", 9))[:1018] + " -Xmx4", "", 4 << 30, "", ""},
	} {
		p := Perf{Values: map[string]any{"java.rt.vmFlags": row.flags}}
		if row.published != "" {
			p.Values["java.rt.vmArgs"] = row.published
		}
		got := p.Flags(strings.Split(row.line, "|"))
		must.True(t, got.Xmx == row.xmx && got.D["d"] == row.d && got.Main == "M" && (row.gc == "" || got.XX[row.gc] == "true"),
			"%s: Flags(%s) = %+v, want a heap of %d and d=%q", row.says, row.line, got, row.xmx, row.d)
	}
}

// FuzzComplete: no variable and no file panics, and what follows the class is the end of the line.
func FuzzComplete(f *testing.F) {
	f.Add("-Xmx1g '-Da=b c'", "# x\n\"a\\\n  b\" c#d\n@e -XX:Flags=g", "@x\x00-jar\x00@y\x00M")
	f.Add("\"", "\\", "@x\x00--disable-@files\x00@x\x00-cp")
	f.Add("-XX:VMOptionsFile=v -XX:Flags=f", "\"\\", "@@x\x00-m")
	f.Fuzz(func(t *testing.T, variable, file, line string) {
		args := append([]string{"java"}, strings.Split(line, "\x00")...)
		for _, name := range []string{"JDK_JAVA_OPTIONS=", "JAVA_TOOL_OPTIONS=", "_JAVA_OPTIONS="} {
			got, err := Complete(args, []string{name + variable}, func(string) (string, error) { return file, nil })
			must.True(t, err == nil && len(got) != 0 && got[0] == "java", "Complete(%q) = %q, %v", args, got, err)
			ParseFlags(got)
		}
	})
}
