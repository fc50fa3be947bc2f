//go:build integration

package cmd

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
)

// shellBlock is a block of commands in a page.
var shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")

// beforePage makes a page end with its first command that fails. A machine that is busy keeps no
// schedule (4) and need not be fit for Kafka (3), and head leaves before its input ends (141).
const beforePage = `set -uxE -o pipefail
trap 'code=$?; case "$code $BASH_COMMAND" in 4\ * | 141\ * | 3\ kt\ tune*) ;; *) exit $code ;; esac' ERR
`

// shown is how long a load of a page lasts for a reader who looks at it.
var shown = regexp.MustCompile(`--duration [0-9]+s`)

// hurried is a page whose loads last a second, three if that leaves nothing to measure, and whose calibration is made of
// runs of two. They do in it all that they do in ten. Loads in the background, and those in which something happens, keep
// their time.
func hurried(script string) string {
	var out strings.Builder
	for line := range strings.Lines(strings.ReplaceAll(script, "\\\n", " ")) {
		switch {
		case strings.Contains(line, "&") || strings.Contains(line, "--at "):
		case strings.Contains(line, "--warmup") || strings.Contains(line, " over "):
			line = shown.ReplaceAllString(line, "--duration 3s")
		default:
			line = shown.ReplaceAllString(line, "--duration 1s")
		}
		if line == "kt calibrate\n" {
			line = "kt calibrate --run-time 2s\n"
		}
		out.WriteString(line)
	}
	return out.String()
}

// TestTheCommandsOfTheDocuments runs all commands of a page, in order, as a reader does who pastes
// them in a fresh clone.
func TestTheCommandsOfTheDocuments(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("each page gets a network of its own, for its ports and hosts, and that needs root")
	}
	// A page has no network to fetch Kafka from.
	if text, err := exec.CommandContext(t.Context(), "../scripts/kafka", "fetch").CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	pages := must.Have(filepath.Glob("../docs/*.md"))(t)
	for _, page := range append(pages, "../README.md") {
		text := must.Have(os.ReadFile(page))(t)
		blocks := shellBlock.FindAllSubmatch(text, -1)
		if len(blocks) == 0 {
			if name := filepath.Base(page); name != "checks.md" && name != "security-model.md" { // a list that is generated, and rules
				t.Errorf("%s has no command", page)
			}
			continue
		}
		script := beforePage
		for _, b := range blocks {
			script += string(b[1])
		}
		script += "exit 0\n"
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			runInClone(t, hurried(script))
		})
	}
}

// runInClone runs a script in a copy of the sources. It has loopback alone, and sees no process but its own:
// kt tune and kt probe look for brokers. All its processes end with it.
func runInClone(t *testing.T, script string) {
	clone := filepath.Join(t.TempDir(), "kt")
	folders := []string{"scripts", "docs"}
	if strings.Contains(script, "go build") {
		folders = append(folders, "cmd", "internal", "profiles")
	}
	for _, name := range folders {
		must.Do(t, os.CopyFS(filepath.Join(clone, name), os.DirFS(filepath.Join("..", name))))
	}
	for _, name := range []string{"go.mod", "go.sum", "main.go"} {
		text := must.Have(os.ReadFile(filepath.Join("..", name)))(t)
		writeScript(t, filepath.Join(clone, name), string(text))
	}
	kt := must.Have(binary())(t)
	tools := t.TempDir() // kt where a page does not build it, and sudo, which root may not have
	writeScript(t, filepath.Join(tools, "sudo"), "#!/bin/sh\nexec \"$@\"\n")
	must.Do(t, os.Symlink(kt, filepath.Join(tools, "kt")))
	writeScript(t, filepath.Join(tools, "page"), script)

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "unshare", "--net", "--pid", "--fork", "--mount-proc", "--kill-child",
		"bash", "-c", `ip link set lo up && bash "$0"`, filepath.Join(tools, "page"))
	c.Dir = clone
	c.Env = append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH"), "XDG_STATE_HOME="+filepath.Join(tools, "state"),
		"XDG_CONFIG_HOME="+filepath.Join(tools, "config"), "TERM=dumb")
	c.WaitDelay = time.Second
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Run(); err != nil {
		lines := strings.SplitAfter(out.String(), "\n")
		t.Errorf("%v:\n%s", err, strings.Join(lines[max(0, len(lines)-40):], ""))
	}
}

func writeScript(t *testing.T, path, text string) {
	t.Helper()
	must.Do(t, os.WriteFile(path, []byte(text), 0o755))
}
