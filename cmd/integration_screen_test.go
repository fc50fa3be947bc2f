//go:build integration

package cmd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
)

// terminal is a real terminal, tmux, in which kt runs.
type terminal struct {
	t    *testing.T
	name string
}

// openTerminal runs a shell command in a terminal of w × h. When it has ended, its
// exit code is shown as "exit=N".
func openTerminal(t *testing.T, w, h int, command string) *terminal {
	t.Helper()
	term := &terminal{t: t, name: strings.ReplaceAll(fmt.Sprintf("kt-it-%s", t.Name()), "/", "-")}
	t.Cleanup(func() { _ = exec.Command("tmux", "-L", term.name, "kill-server").Run() }) // it may have ended by itself
	term.tmux("-f", "/dev/null", "new-session", "-d", "-s", "kt", "-x", fmt.Sprint(w), "-y", fmt.Sprint(h),
		"env -u TMUX -u CI -u NO_COLOR TERM=xterm-256color LC_ALL=C.UTF-8 "+command+`; echo "exit=$?"; sleep 60`)
	return term
}

func (term *terminal) tmux(args ...string) string {
	term.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-L", term.name}, args...)...).CombinedOutput()
	must.Hold(term.t, err == nil, "tmux %v: %v\n%s", args, err, out)
	return string(out)
}

func (term *terminal) keys(keys ...string) {
	term.t.Helper()
	term.tmux(append([]string{"send-keys", "-t", "kt"}, keys...)...)
}

// await waits until the screen shows every one of the texts, and returns it. A
// text that begins with "!" must not be there.
func (term *terminal) await(texts ...string) string {
	term.t.Helper()
	var screen string
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		screen = term.tmux("capture-pane", "-p", "-t", "kt")
		if shows(screen, texts) {
			return screen
		}
	}
	term.t.Fatalf("the screen never showed %q:\n%s", texts, screen)
	return ""
}

// awaitExit waits for the end of a load at a fixed rate, and for texts. On a machine with other things to do kt may find
// that it did not keep its schedule, and brokers may not answer for long.
func (term *terminal) awaitExit(texts ...string) string {
	term.t.Helper()
	last := term.await(append(texts, "exit=")...)
	if !slices.ContainsFunc([]int{exitOK, exitNotValid, exitFailed}, func(code int) bool { return strings.Contains(last, fmt.Sprintf("exit=%d\n", code)) }) {
		term.t.Errorf("it did not end well:\n%s", last)
	}
	return last
}

func shows(screen string, texts []string) bool {
	for _, text := range texts {
		unwanted, without := strings.CutPrefix(text, "!")
		if strings.Contains(screen, unwanted) == without {
			return false
		}
	}
	return true
}

// A shell suspends kt, lets it go on in the background, and brings it back. What is typed at the shell is not for kt.
func TestTheScreenOfAJobOfAShell(t *testing.T) {
	t.Parallel()
	kt := must.Have(binary())(t)
	load := kt + " produce --rate 100 --topic jobs --result none --duration "
	term := openTerminal(t, 120, 36, "PS1='shell ' bash --norc -i")
	term.keys(load+"1s &", "Enter")
	term.await("offered =", "!1 Throughput", "!Stopped")
	term.keys("clear; "+load+"5m", "Enter")
	term.await("1 Throughput", "RUN")
	term.keys("C-z")
	term.await("Stopped", "shell", "!1 Throughput")
	term.keys("echo q; sleep 1; fg", "Enter", "q")
	term.await("1 Throughput", "RUN")
	term.keys("C-z")
	term.await("Stopped", "shell", "!1 Throughput")
	term.keys("bg; sleep 1; kill -INT %?5m; wait", "Enter")
	term.await("NOT VALID", "kt itself stood still", "offered =", "!1 Throughput", "!Stopped (tty")
}

func TestTheScreenInARealTerminal(t *testing.T) {
	t.Parallel()
	k := startCluster(t, 1)
	kt := must.Have(binary())(t)
	load := fmt.Sprintf("%s produce --bootstrap-server %s --topic screen --partitions 7 --rate 500 --duration 5m --result none", kt, k.brokers)

	t.Run("panels, zoom, sizes and the end by q", func(t *testing.T) {
		term := openTerminal(t, 120, 36, load)
		term.await("1 Throughput", "2 ", "3 ", "5 Brokers", "6 This client", "limit ", "RUN", "screen")
		term.keys("3")
		term.await("3 Latency heatmap", "!5 Brokers")
		term.keys("4")
		term.await("4 Partitions", "!5 Brokers") // where events may have its place in the grid
		term.keys("0")
		term.await("5 Brokers")
		for _, size := range [][2]int{{80, 24}, {200, 60}, {40, 3}} {
			term.tmux("resize-window", "-t", "kt", "-x", fmt.Sprint(size[0]), "-y", fmt.Sprint(size[1]))
			term.await("rec/s")
		}
		term.tmux("resize-window", "-t", "kt", "-x", "120", "-y", "36")
		term.keys("?")
		term.await("stop and report")
		term.keys("?")
		term.await("!stop and report") // not Escape: with the q behind it, it would be Alt-Q
		term.keys("q")
		last := term.awaitExit("offered =", "limit ")
		must.Match(t, "0", strings.TrimSpace(term.tmux("display-message", "-p", "-t", "kt", "#{alternate_on}")), "the terminal was left on the alternate screen")
		must.True(t, !strings.Contains(last, "╭"), "the screen is still there:\n%s", last)
	})

	// tmux 3.3a shows rows of a screen that was left above what was there before, if the
	// terminal has grown meanwhile.
	sizes := [][][2]int{{{120, 36}}, {{60, 15}, {200, 60}, {120, 36}}, {{200, 60}, {60, 15}}, {{100, 30}, {101, 31}, {81, 25}}}
	for i, resized := range sizes {
		t.Run(fmt.Sprintf("nothing of it is left, %d", i), func(t *testing.T) {
			term := openTerminal(t, 80, 24, load)
			term.await("RUN")
			term.keys(fmt.Sprint(i))
			for _, size := range resized {
				term.tmux("resize-window", "-t", "kt", "-x", fmt.Sprint(size[0]), "-y", fmt.Sprint(size[1]))
				time.Sleep(time.Duration(i) * 40 * time.Millisecond) // in the middle of a frame, too
			}
			term.keys("q")
			term.await("exit=")
			all := term.tmux("capture-pane", "-p", "-S", "-", "-t", "kt")
			must.True(t, !strings.ContainsAny(all, "│╭╰┤"), "zoom %d and sizes %v: the screen is still there:\n%s", i, resized, all)
		})
	}

	t.Run("a stall, and its end", func(t *testing.T) {
		term := openTerminal(t, 120, 36, load)
		term.await("RUN", "avg")
		k.script("pause", "1")
		term.await("STALL", "oldest", "limit a stall", "7 Events", "no acknowledgement for", "stall: a record", "!was kept")
		k.script("resume", "1")
		term.await("RUN", "!oldest", "records are answered again")
		term.keys("q")
		term.await("exit=")
	})

	t.Run("a frozen broker is seen at full weight", func(t *testing.T) { k.in(t).freezes(t) })

	dir := t.TempDir()
	t.Run("another rate, and a saved screen", func(t *testing.T) {
		term := openTerminal(t, 120, 36, "sh -c 'cd "+dir+" && "+strings.Replace(load, "none", "run.ktr", 1)+"'")
		term.await("RUN", "target 500")
		term.keys("+")
		term.await("target 550", "target 550 records/s (was 500)")
		term.keys("s")
		term.await("saved as kt-produce-")
		term.keys("q")
		term.awaitExit("on average", "screen saved as "+dir)
		saved, err := filepath.Glob(dir + "/kt-produce-*.txt")
		must.Hold(t, err == nil && len(saved) == 1, "saved are %q (%v), want one file", saved, err)
		text, err := os.ReadFile(saved[0])
		must.True(t, err == nil && shows(string(text), []string{"1 Throughput", "target 550", "!\x1b"}), "saved is (%v):\n%s", err, text)
	})

	t.Run("another rate in a replay", func(t *testing.T) {
		// Slowly: the run took 2 s.
		term := openTerminal(t, 120, 36, kt+" report --play --speed 0.2 "+dir+"/run.ktr")
		term.await("q leave", "RUN", "target 500")
		term.keys("+")
		term.await("speed 0.4x")
		term.await("DONE", "target 550", "target 550 records/s (was 500)", "done; q to leave")
		term.keys("q")
		term.await("exit=0")
	})

	t.Run("the end by Ctrl-C", func(t *testing.T) {
		term := openTerminal(t, 80, 24, load)
		term.await("1 Throughput", "RUN")
		term.keys("C-c")
		last := term.await("exit=130", "limit ")
		must.Match(t, strings.Count(last, "\n"), strings.Count(term.tmux("capture-pane", "-p", "-J", "-t", "kt"), "\n"), "the summary has lines that the terminal had to wrap:\n%s", last)
	})

	t.Run("the end by SIGTERM", func(t *testing.T) {
		file := t.TempDir() + "/pid"
		term := openTerminal(t, 80, 24, fmt.Sprintf("sh -c 'echo $$ >%s; exec %s'", file, load))
		term.await("1 Throughput", "RUN")
		out, err := exec.Command("sh", "-c", "kill -TERM $(cat "+file+")").CombinedOutput()
		must.Hold(t, err == nil, "kill: %v\n%s", err, out)
		term.await("exit=143", "limit ")
	})

	t.Run("only stdout is redirected", func(t *testing.T) {
		file := t.TempDir() + "/out.txt"
		term := openTerminal(t, 100, 30, load+" --duration 4s >"+file)
		term.await("1 Throughput")
		term.awaitExit()
		out, err := os.ReadFile(file)
		must.True(t, err == nil && strings.Contains(string(out), "throughput") && !strings.Contains(string(out), "\x1b"),
			"stdout is %q, %v", out, err)
	})
}
