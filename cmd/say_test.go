package cmd

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/must"
)

// hostile would clear the screen, set the title, forge a line of kt's, turn text around and colour
// it. It holds no slash, so that a file can be called so.
const hostile = "x\x1b[2J\x1b]0;gone\a\r\nkt: all is well\u202e\u2066\x1b[32mgreen\x1b[m\u009b2J\x7f"

// runKT runs kt in this process, without a terminal, and returns what it wrote.
func runKT(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return runIn(t, nil, args...)
}

// runIn is runKT with variables of the environment.
func runIn(t *testing.T, environ []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, said strings.Builder
	env := quietEnv()
	env.Args, env.Environ, env.Stdin, env.Stdout, env.Stderr = args, environ, strings.NewReader(""), &out, &said
	env.Getenv = func(name string) (value string) {
		for _, pair := range environ {
			if v, ok := strings.CutPrefix(pair, name+"="); ok {
				value = v
			}
		}
		return value
	}
	env.Exit = func(int) { t.Error("kt left by itself") }
	code = Main(*env)
	return code, out.String(), said.String()
}

// Each source of text that is not kt's own, on its way to a terminal.
func TestNothingThatKTPrintsSteersATerminal(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	properties := write("a.properties", `linger.ms=x\u001b[2J\u009b\nkt\: all is well`+"\n")
	config := write("a.yaml", `"unknown\e[2J\u202e\nkt: all is well": 1`+"\n")
	shown := write("s.yaml", "# \x1b[2J\u202e\u009b31m\nname: x\r\n")
	named := write(hostile+".properties", "no.such.property=1\n")
	run := filepath.Join(dir, hostile+".ktr")
	for _, c := range []struct {
		source string
		args   []string
	}{
		{"a command's output, a header, a run file's name", []string{
			"produce", "--num-records", "1000", "--rate", "1000", "--header", "h=" + hostile, "--command-property", "client.id=" + hostile,
			"--result", run, "--print-metrics", "--at", "0s", "--exec", "printf '" + hostile + "'; exit 3",
		}},
		{"a run file as text", []string{"report", run}},
		{"a run file as JSON", []string{"report", run, "--output", "json"}},
		{"a run file as lines", []string{"report", run, "--output", "jsonl"}},
		{"a run file as a table", []string{"report", run, "--output", "processes"}},
		{"collected files", []string{"collect", "--result", "none", run}},
		{"a file that is not there", []string{"report", hostile}},
		{"a broker's sentence", []string{"produce", "--bootstrap-server", refusing(t, hostile), "--topic", "orders", "--result", "none"}},
		{"a topic", []string{"produce", "--topic", hostile, "--print-config"}},
		{"a group", []string{"consume", "--bootstrap-server", "b:1", "--topic", "t", "--group", hostile, "--print-config"}},
		{"a host", []string{"produce", "--bootstrap-server", "h" + hostile + ":9092", "--result", "none"}},
		{"an address", []string{"produce", "--bootstrap-server", must.Nobody(t) + "," + hostile, "--result", "none"}},
		{"a property", []string{"produce", "--command-property", "client.id=" + hostile, "--print-config"}},
		{"a wrong property", []string{"produce", "--command-property", "linger.ms=" + hostile}},
		{"an unknown property", []string{"produce", "--command-property", hostile + "=1"}},
		{"a property of a file", []string{"produce", "--command-config", properties, "--print-config"}},
		{"a property file's name", []string{"produce", "--command-config", named}},
		{"a payload file's name", []string{"produce", "--payload-file", hostile}},
		{"a header", []string{"produce", "--header", "h=" + hostile, "--print-config"}},
		{"a configuration file", []string{"produce", "--config", config}},
		{"a study file", []string{"study", "show", shown}},
		{"a profile", []string{"produce", "--profile", hostile}},
		{"a command", []string{hostile}},
		{"a flag", []string{"produce", "--" + hostile}},
		{"a date", []string{"consume", "--bootstrap-server", "b:1", "--topic", "t", "--date-format", "'" + hostile + "'Q"}},
	} {
		t.Run(c.source, func(t *testing.T) {
			_, stdout, stderr := runKT(t, c.args...)
			must.Hold(t, stdout+stderr != "", "nothing was written")
			for _, text := range []string{stdout, stderr} {
				at := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) })
				must.True(t, at < 0, "it has %q", text[max(at-40, 0):min(at+20, len(text))])
				must.True(t, !strings.Contains("\n"+text, "\nkt: all is well"), "it has a forged line:\n%s", text)
			}
		})
	}
}

// refusing starts a broker that makes no topic, and says why.
func refusing(t *testing.T, why string) string {
	t.Helper()
	c := must.Have(kfake.NewCluster(kfake.NumBrokers(1)))(t)
	t.Cleanup(c.Close)
	c.ControlKey(int16(kmsg.CreateTopics), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		answer := r.ResponseKind().(*kmsg.CreateTopicsResponse)
		topic := kmsg.NewCreateTopicsResponseTopic()
		topic.Topic, topic.ErrorCode, topic.ErrorMessage = "orders", kerr.PolicyViolation.Code, kmsg.StringPtr("no: "+why)
		answer.Topics = append(answer.Topics, topic)
		return answer, nil, true
	})
	return c.ListenAddrs()[0]
}

// Whatever writes to stderr by itself writes what nobody has cleaned.
func TestWhatKTSaysGoesThroughOneFile(t *testing.T) {
	allowed := map[string]int{
		"say.go":     3, // the screen too
		"doctor.go":  1, // the width of a line that is written over
		"env.go":     2, // where it comes from
		"root.go":    1, // cobra's own, which has nothing to say
		"output.go":  2, // lines of figures, metrics
		"outside.go": 2, // what a process of a load and a command of the user say, for their errors
	}
	files := append(must.Have(filepath.Glob("*.go"))(t), must.Have(filepath.Glob("../internal/load/*.go"))(t)...)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		at := token.NewFileSet()
		file := must.Have(parser.ParseFile(at, name, nil, 0))(t)
		var found []string
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Stderr" {
				found = append(found, fmt.Sprint(at.Position(s.Pos()).Line))
			}
			return true
		})
		must.Match(t, allowed[filepath.Base(name)], len(found), "%s uses stderr in lines %s: take Env.say", name, strings.Join(found, ", "))
	}
}
