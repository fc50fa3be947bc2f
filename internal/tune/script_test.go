package tune

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
)

// shell is the strictest shell that is here.
func shell(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"dash", "sh"} {
		if p, err := exec.LookPath(name); err == nil {
			return p
		}
	}
	t.Skip("needs a shell, and finds neither dash nor sh")
	return ""
}

// scriptOf writes a script, has the shell check it, and returns its file.
func scriptOf(t *testing.T, changes []Change, o ApplyOptions) string {
	t.Helper()
	var b bytes.Buffer
	err := Script(&b, changes, o)
	must.Hold(t, err == nil, "Script: %v", err)
	file := filepath.Join(t.TempDir(), "tune.sh")
	must.Do(t, os.WriteFile(file, b.Bytes(), 0o644))
	out, err := exec.Command(shell(t), "-n", file).CombinedOutput()
	must.Hold(t, err == nil, "the shell does not read it: %v\n%s\n%s", err, out, b.Bytes())
	return file
}

// run runs a script and returns what it said, and how it ended.
func run(t *testing.T, script string, env ...string) (out string, status int) {
	t.Helper()
	cmd := exec.Command(shell(t), script)
	cmd.Env = append(os.Environ(), env...)
	b, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(b), cmd.ProcessState.ExitCode()
}

func TestAScriptDoesWhatApplyDoes(t *testing.T) {
	for _, row := range []struct {
		name    string
		options ApplyOptions
		said    int // lines
		made    int // lines of folders
	}{
		{"now and for later", ApplyOptions{}, 11, 4},
		{"now", ApplyOptions{Runtime: true}, 7, 0},
		{"for later", ApplyOptions{Persist: true}, 4, 4},
	} {
		t.Run(row.name, func(t *testing.T) {
			byKt, k := machineTree(t)
			mustApply(t, byKt, planOfAll(), row.options)
			tree, _ := machineTree(t)
			script := scriptOf(t, planOfAll(), row.options)
			out, status := run(t, script, "KT_ROOT="+tree.root)
			if got := strings.Count(out, "changed  ") + strings.Count(out, "skipped  "); status != 0 || got != row.said || strings.Count(out, "\n") != row.said+row.made || strings.Count("\n"+out, "\nmade  ") != row.made {
				t.Errorf("the script ended with %d and said\n%s\nwant 0, %d lines of what was changed and %d of folders", status, out, row.said, row.made)
			}
			for p := range machineFiles() {
				// A folder has no brackets to move, no pair, and no process.
				if p == hugePagesFile || p == schedulerFile || p == dirtyRatioFile || p == requestsFile || strings.HasPrefix(p, "/proc/4711") || p == "/proc/self/mountinfo" {
					continue
				}
				got, want := readText(t, tree.root, p), readText(t, byKt.root, p)
				must.True(t, got == want, "%s after the script is %q, after Apply %q", p, got, want)
			}
			if len(k.writes) > 0 {
				for _, f := range []string{SysctlFile, TmpfilesFile, UdevFile, DropIn("kafka.service")} {
					if !row.options.Later() {
						continue
					}
					want := strings.Replace(readText(t, byKt.root, f), ownHeader, scriptHeader, 1)
					got := readText(t, tree.root, f)
					must.True(t, got == want, "%s after the script is\n%s\nafter Apply\n%s", f, got, want)
				}
			}
			before := snapshotOf(t, tree.root)
			out, status = run(t, script, "KT_ROOT="+tree.root)
			must.True(t, (!strings.Contains(out, "changed  ") || strings.Contains(out, "unchanged  ")) && !strings.Contains(out, "->") && status == 0,
				"the script, run again, ended with %d and said\n%s\nwant that nothing was changed", status, out)
			sameTree(t, "the tree after a second run", before, snapshotOf(t, tree.root))
		})
	}
}

func TestAScriptLeavesWhatIsNotAsItWas(t *testing.T) {
	for _, row := range []struct {
		name    string
		prepare func(*testing.T, *Tree)
		env     string
		want    string // what it says
		status  int
	}{
		{"a value is another", func(t *testing.T, tree *Tree) {
			putText(t, tree.root, swappinessFile, "40\n")
		}, "", "failed     " + swappinessFile + ": it was '60' when this script was written and is '40'", 1},
		{"a value is another, and force is used", func(t *testing.T, tree *Tree) {
			putText(t, tree.root, swappinessFile, "40\n")
		}, "KT_FORCE=1", "changed    " + swappinessFile + ": 40 -> 1", 0},
		{"a file is not there", func(t *testing.T, tree *Tree) {
			must.Do(t, os.Remove(tree.at(swappinessFile)))
		}, "", "failed     " + swappinessFile + ": it is not there", 1},
		{"a file of that name is somebody else's", func(t *testing.T, tree *Tree) {
			putText(t, tree.root, SysctlFile, "vm.swappiness = 5\n")
		}, "", "failed     " + SysctlFile + ": there is such a file, and no script of kt's made it", 1},
		{"a file of that name is empty", func(t *testing.T, tree *Tree) {
			putText(t, tree.root, SysctlFile, "")
		}, "", "failed     " + SysctlFile + ": there is such a file, and no script of kt's made it", 1},
		{"a file of that name was made by an apply", func(t *testing.T, tree *Tree) {
			mustApply(t, tree, planOfAll()[1:2], ApplyOptions{Persist: true})
		}, "", "failed     " + SysctlFile + ": kt tune --apply made it with other lines: kt tune --rollback there first", 1},
		{"a file of that name was made by an apply, with the same lines", func(t *testing.T, tree *Tree) {
			mustApply(t, tree, planOfAll(), ApplyOptions{Persist: true})
		}, "", "unchanged  " + SysctlFile, 0},
		{"a file of that name was made by another script", func(t *testing.T, tree *Tree) {
			putText(t, tree.root, SysctlFile, scriptHeader+"vm.swappiness = 5\n")
		}, "", "changed    " + SysctlFile, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			tree, _ := machineTree(t)
			row.prepare(t, tree)
			out, status := run(t, scriptOf(t, planOfAll(), ApplyOptions{}), "KT_ROOT="+tree.root, row.env)
			must.True(t, status == row.status && slices.Contains(strings.Split(out, "\n"), row.want),
				"the script ended with %d and said\n%s\nwant %d and\n%s", status, out, row.status, row.want)
			must.True(t, strings.Contains(out, "changed    "+tcpRmemFile), "the script said\n%s\nwant that it went on with %s", out, tcpRmemFile)
		})
	}
}

// undoOf are the commands that a script ends with as comments.
func undoOf(t *testing.T, script string) string {
	t.Helper()
	b := must.Have(os.ReadFile(script))(t)
	_, text, ok := strings.Cut(string(b), "\n# To undo it:\n")
	must.Hold(t, ok, "the script does not say how to undo it")
	text, _, _ = strings.Cut(text, "\n\n")
	return strings.ReplaceAll("\n"+text+"\n", "\n#   ", "\n")
}

// TestAScriptChangesProcessesAndMounts runs one on this machine, with a process and
// a mount of its own, and then what it says undoes it.
func TestAScriptChangesProcessesAndMounts(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to mount something")
	}
	if _, err := exec.LookPath("prlimit"); err != nil {
		t.Skip("needs prlimit, of util-linux")
	}
	dir := filepath.Join(t.TempDir(), `a #place with 'quotes' and a \ in it`)
	must.Do(t, os.Mkdir(dir, 0o755))
	mountSmall(t, dir, "64k,nosuid,nodev,noexec,nodiratime,relatime")
	cat := exec.Command("cat")
	in := must.Have(cat.StdinPipe())(t)
	must.Do(t, cat.Start())
	t.Cleanup(func() { _, _ = in.Close(), cat.Wait() })
	p := must.Have(host.System().Process(cat.Process.Pid))(t)
	tree := NewTree("/", "")
	mount, limit := subject{Kind: Remount, Path: dir}, subject{Kind: Prlimit, PID: p.PID, Start: p.Start}
	old := must.Have(tree.value(limit))(t)
	// The hard limit stays: not every root may raise it again.
	_, hard, _ := strings.Cut(old, " ")
	lower, limits := "2048 "+hard, fmt.Sprintf("/proc/%d/limits", p.PID)
	script := scriptOf(t, []Change{
		{Setting: "fs.noatime", Kind: Remount, Path: dir, Old: "relatime", New: "noatime"},
		{Setting: "limits.nofile", Kind: Prlimit, Path: limits, PID: p.PID, Start: p.Start, Old: old, New: lower},
		{Setting: "limits.nofile", Kind: Prlimit, Path: limits, PID: p.PID, Start: p.Start + 1, Old: old, New: lower},
	}, ApplyOptions{Runtime: true})
	// This mount alone is read-only: what does not stay with it changes the file system.
	if out, err := exec.Command("mount", "-o", "remount,bind,ro,nosuid,nodev,noexec,nodiratime,relatime", dir).CombinedOutput(); err != nil {
		t.Fatalf("mount: %v: %s", err, out)
	}
	others := func() host.Mount {
		t.Helper()
		mounts := must.Have(host.System().Mounts())(t)
		m, _ := mountAt(mounts, dir)
		m.Options = slices.DeleteFunc(m.Options, func(o string) bool { return slices.Contains(atimes, o) })
		return m
	}
	before := others()
	if out, status := run(t, script, "KT_CHECK=1"); status != 0 || strings.Count("\n"+out, "\nwould change ") != 2 {
		t.Errorf("the script, to say only what it would change, ended with %d and said\n%s", status, out)
	}
	is := func(when, wantMount, wantLimit string) {
		t.Helper()
		atime, err := tree.value(mount)
		files, err2 := tree.value(limit)
		must.Match(t, []string{wantMount, wantLimit}, []string{atime, files}, "%s the mount is %q, %v and the limit %q, %v", when, atime, err, files, err2)
		must.Match(t, before, others(), "%s the mount is another", when)
	}
	is("before the script", "relatime", old)
	for _, want := range []string{"changed    ", "unchanged  "} {
		out, status := run(t, script)
		must.True(t, status == 0 && strings.Count("\n"+out, "\n"+want) == 2 && strings.Contains(out, "it has ended"),
			"the script ended with %d and said\n%s\nwant twice %q, and that one process has ended", status, out, want)
		is("after the script", "noatime", lower)
	}
	undo := filepath.Join(t.TempDir(), "undo.sh")
	must.Do(t, os.WriteFile(undo, []byte(undoOf(t, script)), 0o644))
	out, status := run(t, undo)
	must.True(t, status == 0, "what undoes it ended with %d and said\n%s", status, out)
	is("after undoing it", "relatime", old)
}

// TestAScriptRefusesAnOldValueOfTwoLines: the undo is a comment, of which a second line would be run.
func TestAScriptRefusesAnOldValueOfTwoLines(t *testing.T) {
	evil := "60\ntouch /tmp/kt-x"
	for name, c := range map[string]Change{
		"a value":                   {Setting: "a", Kind: WriteFile, Path: swappinessFile, Old: evil, New: "1"},
		"a chosen word":             {Setting: "a", Kind: WriteFile, Path: hugePagesFile, Old: "[" + evil + "]", New: "never"},
		"the other one of a pair":   {Setting: "a", Kind: WriteFile, Path: dirtyBytesFile, Old: "0", New: "1", Pair: dirtyRatioFile, PairOld: evil},
		"a carriage return":         {Setting: "a", Kind: WriteFile, Path: swappinessFile, Old: "60\rx", New: "1"},
		"a limit":                   {Setting: "a", Kind: Prlimit, Path: "/proc/1/limits", Old: "1 1\nx", New: "2 2", PID: 1},
		"a limit that is none":      {Setting: "a", Kind: Prlimit, Path: "/proc/1/limits", Old: "$(touch x)", New: "2 2", PID: 1},
		"how access times are kept": {Setting: "a", Kind: Remount, Path: "/data", Old: "relatime $(touch x)", New: "noatime"},
	} {
		var b strings.Builder
		if err := Script(&b, []Change{c}, ApplyOptions{}); err == nil || !strings.Contains(err.Error(), "change of a: ") || b.Len() > 0 {
			t.Errorf("%s: Script = %v, and wrote %d bytes; want an error and nothing", name, err, b.Len())
		}
	}
}

func TestAScriptSaysHowToUndoIt(t *testing.T) {
	got := undoOf(t, scriptOf(t, planOfAll(), ApplyOptions{}))
	for _, want := range []string{
		"rm -f '" + SysctlFile + "'", "printf '%s\\n' '60' >'" + swappinessFile + "'",
		"printf '%s\\n' '20' >'" + dirtyRatioFile + "'", "printf '%s\\n' 'always' >'" + hugePagesFile + "'",
		"prlimit --pid 4711 --nofile='1024:524288'", "mount -o \"remount,bind,${kt_others:?},atime,relatime\" '/data/kafka1'",
		"rmdir '/etc/udev/rules.d' '/etc/udev'",
	} {
		must.True(t, strings.Contains(got, "\n"+want+"\n"), "what undoes the script is\n%s\nwant the line\n%s", got, want)
	}
	for _, want := range []string{
		"rm -f '" + DropIn("kafka.service") + "'\nsystemctl daemon-reload\nudevadm control --reload\n",
		"# And of these folders the ones that it said it made:\nrmdir ",
	} {
		must.True(t, strings.Contains(got, "\n"+want), "what undoes the script is\n%s\nwant in it\n%s", got, want)
	}
	got = undoOf(t, scriptOf(t, planOfAll()[:1], ApplyOptions{}))
	for _, word := range []string{"systemctl", "udevadm"} {
		must.True(t, !strings.Contains(got, word), "what undoes a script without files that %s is about is\n%s", word, got)
	}
	got = undoOf(t, scriptOf(t, planOfAll()[:1], ApplyOptions{Runtime: true}))
	must.True(t, !strings.Contains(got, "rmdir"), "what undoes a script without files is\n%s\nwant no folder in it", got)
}

// TestAScriptTakesOldValuesAsTheyAre writes over values that would be more than one word, or a command, without quotes, and puts
// them back.
func TestAScriptTakesOldValuesAsTheyAre(t *testing.T) {
	for _, old := range []string{
		"it's", "''a''", "$HOME $(exit 3) `id`", `"a\nb" \`, "* /*", "%s %d 100%", "-n -e", "KT_END", "# a", "a > b < c | d ; e & f",
	} {
		for _, env := range []string{"KT_FORCE=", "KT_FORCE=1"} {
			tree, _ := machineTree(t)
			putText(t, tree.root, swappinessFile, old+"\n")
			c := Change{Setting: "vm.swappiness", Kind: WriteFile, Path: swappinessFile, Old: old, New: "1"}
			script := scriptOf(t, []Change{c}, ApplyOptions{Runtime: true})
			out, status := run(t, script, "KT_ROOT="+tree.root, env)
			got := readText(t, tree.root, swappinessFile)
			must.True(t, status == 0 && got == "1\n", "%s, old value %q: the script left %q, ended with %d and said\n%s", env, old, got, status, out)
			undo := filepath.Join(t.TempDir(), "undo.sh")
			must.Do(t, os.WriteFile(undo, []byte(strings.ReplaceAll(undoOf(t, script), "'/", "'"+tree.root+"/")), 0o644))
			out, status = run(t, undo)
			if got := readText(t, tree.root, swappinessFile); status != 0 || got != old+"\n" {
				t.Errorf("old value %q: what undoes the script left %q, ended with %d and said\n%s", old, got, status, out)
			}
		}
	}
}

// TestWhatUndoesAScriptLeavesNothing runs it on a folder, with the folders that the
// script said it made.
func TestWhatUndoesAScriptLeavesNothing(t *testing.T) {
	tree, _ := machineTree(t)
	before := snapshotOf(t, tree.root)
	changes := slices.Concat(planOfAll()[:1], []Change{
		{Setting: "a", Kind: KeepOnly, New: "1", Keep: []Line{planOfAll()[3].Keep[0], planOfAll()[4].Keep[0]}},
	})
	script := scriptOf(t, changes, ApplyOptions{})
	old := syscall.Umask(0o077)
	said, status := run(t, script, "KT_ROOT="+tree.root)
	syscall.Umask(old)
	must.Hold(t, status == 0, "the script ended with %d and said\n%s", status, said)
	info, err := os.Stat(tree.at("/etc/udev"))
	must.True(t, err == nil && info.Mode().Perm() == 0o755, "Stat(/etc/udev) = %v, %v; want a folder that all may look into", info, err)
	undo := "set -e\n"
	for line := range strings.Lines(undoOf(t, script)) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0, words[0] == "udevadm":
		case words[0] == "rmdir":
			for _, w := range words[1:] {
				if strings.Contains(said, "made       "+strings.Trim(w, "'")+"\n") {
					undo += "rmdir " + w + "\n"
				}
			}
		default:
			undo += line
		}
	}
	file := filepath.Join(t.TempDir(), "undo.sh")
	must.Do(t, os.WriteFile(file, []byte(strings.ReplaceAll(undo, "'/", "'"+tree.root+"/")), 0o644))
	out, status := run(t, file)
	must.True(t, status == 0, "what undoes it ended with %d and said\n%s", status, out)
	sameTree(t, "the tree after undoing it", before, snapshotOf(t, tree.root))
}

func TestMountPointsAreWrittenAsTheKernelDoes(t *testing.T) {
	must.True(t, strings.Contains(scriptMount, otherOptions), "what undoes a script keeps other mount options than the script")
	for _, row := range []struct{ point, want string }{
		{"/data/kafka1", "/data/kafka1"},
		{"/a b", `/a\040b`},
		{`/a\b`, `/a\134b`},
		{"/a#b", "/a#b"},
	} {
		do, _ := scriptLines(&Change{Kind: Remount, Path: row.point, New: "noatime"})
		must.True(t, strings.Contains(do, " "+quote(row.want)+" "), "%q is remounted by %q, want %s", row.point, do, row.want)
	}
}

// playbook writes a playbook and returns its only task, and its text.
func playbook(t *testing.T, changes []Change, o ApplyOptions) (ansibleTask, string) {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, Ansible(&b, changes, o))
	text := b.String()
	d := yaml.NewDecoder(&b)
	d.KnownFields(true)
	var plays []play
	err := d.Decode(&plays)
	must.Hold(t, err == nil && len(plays) == 1 && len(plays[0].Tasks) == 1, "the playbook is not one play of one task: %v\n%s", err, text)
	return plays[0].Tasks[0], text
}

// TestAPlaybookDoesWhatAScriptDoes runs what Ansible would run, twice.
func TestAPlaybookDoesWhatAScriptDoes(t *testing.T) {
	tree, _ := machineTree(t)
	putText(t, tree.root, swappinessFile, "40\n") // not what it was on the machine of the playbook
	task, text := playbook(t, planOfAll(), ApplyOptions{})
	must.True(t, strings.Contains(text, "stdin: !unsafe |") && !strings.Contains(text, "kt_limit 4711"),
		"want a script that Ansible takes as it is, and without a process of this machine:\n%s", text)
	before := snapshotOf(t, tree.root)
	for _, row := range []struct {
		check   string // what the template of check mode makes
		says    string
		changes bool
	}{{"1", "would change ", true}, {"", "changed ", true}, {"", "changed ", false}, {"1", "would change ", false}} {
		cmd := exec.Command(shell(t), task.Command.Words[1:]...)
		cmd.Stdin = strings.NewReader(task.Command.Stdin.Value)
		cmd.Env = append(os.Environ(), "KT_ROOT="+tree.root)
		for name, value := range task.Environment {
			cmd.Env = append(cmd.Env, name+"="+strings.Replace(value, "{{ ansible_check_mode | ternary('1', '') }}", row.check, 1))
		}
		out, err := cmd.CombinedOutput()
		must.True(t, err == nil && strings.Contains("\n"+string(out), "\n"+row.says) == row.changes,
			"the playbook's script: %v, %s; want that it changes something: %t", err, out, row.changes)
		if row.check != "" && row.changes {
			sameTree(t, "the tree after check mode", before, snapshotOf(t, tree.root))
		}
	}
	got := readText(t, tree.root, swappinessFile) + readText(t, tree.root, SysctlFile)
	must.True(t, strings.HasPrefix(got, "1\n") && strings.Contains(got, "\nvm.swappiness = 1\n"), "the playbook left\n%s", got)
}

func TestAPlaybookRefusesWhatAScriptRefuses(t *testing.T) {
	err := Ansible(new(bytes.Buffer), []Change{{Setting: "a", Kind: "other"}}, ApplyOptions{})
	must.True(t, err != nil, "a change of no kind is written")
}
