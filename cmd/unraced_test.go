//go:build !race

package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/must"
)

// TestUnracedScripts runs the scripts that the race detector would only make several times as slow. It sees a load of
// agents, a round trip in all its ways and a study in the other scripts, and engines, readers and agents in the tests
// of their packages.
func TestUnracedScripts(t *testing.T) { runScripts(t, "testdata/unraced") }

// written runs kt with variables of the environment, and returns all that it writes.
func written(t *testing.T, environ []string, args ...string) string {
	t.Helper()
	_, stdout, stderr := runIn(t, environ, args...)
	return stdout + stderr
}

// plant returns values with a secret that no other value has, and a part of it.
func plant(n *int) (values []string, part string) {
	*n++
	part = fmt.Sprintf("Pl4nted%d", *n)
	word := part + "-é"
	return []string{"amqp://u:" + word + "@127.0.0.1:1/", "u:" + word + "@127.0.0.1:9092", "https://" + word + "@h/?x", "x password=" + word}, part
}

// endings are what keeps a command from its work once it has its settings.
var endings = map[string][]string{"produce": {"--print-config"}, "consume": {"--print-config"}, "roundtrip": {"--print-config"}, "find": {"--dry-run"}, "agent": {"--print-unit"}}

// Every flag takes a secret in its place, on the command line and as a variable.
func TestNoFlagAndNoVariableShowsASecret(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing.yaml")
	t.Chdir(t.TempDir())
	root := newRoot(&Env{Getenv: func(string) string { return "" }})
	n, shown := 0, 0
	tried := make(map[string]bool)
	look := func(name, part, text string) {
		must.True(t, !strings.Contains(text, part), "%s: %s", name, text)
		if strings.Contains(text, "[hidden]") {
			shown++
		}
	}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		path := strings.Fields(c.CommandPath())[1:]
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !slices.Contains([]string{"string", "stringSlice", "stringArray"}, f.Value.Type()) || c.Flags().Lookup("config") == nil || tried[f.Name] {
				return
			}
			tried[f.Name] = true
			ending, ok := endings[c.Name()]
			if !ok {
				ending = []string{"--config", missing}
			}
			values, part := plant(&n)
			for _, value := range values {
				args := slices.Concat(path, ending, []string{"--" + f.Name, value})
				look(strings.Join(args, " "), part, written(t, nil, args...))
			}
			if slices.Contains(config.Commands(), path[0]) {
				values, part = plant(&n)
				variable := "KT_" + strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(f.Name)) + "="
				look(variable, part, written(t, []string{variable + values[0]}, "config", path[0], "--output", []string{"text", "json"}[n%2]))
			}
		})
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	must.True(t, n >= 100 && shown >= n/2, "%d flags were tried, and %d values hidden", n, shown)
}

func TestNoFileShowsASecret(t *testing.T) {
	dir := t.TempDir()
	n := 0
	for _, r := range []struct{ name, text, flag string }{
		{"a line without a key", "WORD", "--command-config"},
		{"a line of letters alone", "WORDabc=", "--command-config"},
		{"an unknown key", "pasword=WORD", "--command-config"},
		{"a bootstrap server", "bootstrap.servers=u:WORD@127.0.0.1:1", "--command-config"},
		{"a value of another property", "acks=http://u:WORD@h/", "--command-config"},
		{"an unknown security property", "ssl.pasword=WORD", "--command-config"},
		{"a configuration file", "url: amqp://u:WORD@127.0.0.1:1/", "--config"},
		{"a value that does not fit", "duration: 'password=WORD'", "--config"},
		{"a property in it", "command-property: ['ssl.key.password=WORD', 'acks=password WORD']", "--config"},
	} {
		n++
		word := "Planted" + string(rune('A'+n)) // letters alone have the form of a name
		path := filepath.Join(dir, fmt.Sprint(n))
		must.Do(t, os.WriteFile(path, []byte(strings.ReplaceAll(r.text, "WORD", word)+"\n"), 0o600))
		for _, more := range [][]string{{"--print-config"}, {"--result", "none", "--num-records", "1"}} {
			text := written(t, nil, append([]string{"produce", r.flag, path}, more...)...)
			must.True(t, !strings.Contains(text, word) && text != "", "%s: %s", r.name, text)
		}
	}
}

// FuzzCommandLine gives a flag of a load a text with a URL that has a password. Whatever is around it, kt does not write
// the password.
func FuzzCommandLine(f *testing.F) {
	var names []string
	produce := newLoad(&Env{Getenv: func(string) string { return "" }}, config.NewProduce, &cobra.Command{Use: "produce"})
	produce.Flags().VisitAll(func(one *pflag.Flag) { names = append(names, one.Name) })
	for i, around := range [][2]string{{"", ""}, {"x,", ",y"}, {"a=", ""}, {"'", "'"}, {"\x1b[", "\n"}, {"kafka://b:1,", "/"}} {
		f.Add(uint8(i*7), around[0], around[1])
	}
	f.Fuzz(func(t *testing.T, flag uint8, before, after string) {
		const word = "Pl4nted-é"
		text := written(t, nil, "produce", "--print-config", "--"+names[int(flag)%len(names)]+"="+before+"http://u:"+word+"@h"+after)
		must.True(t, !strings.Contains(text, "Pl4nted") || strings.Contains(before+after, "Pl4nted"), "%s", text)
	})
}
