package tune

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

const allApplied = "vm.swappiness applied, net.tcp_rmem applied, vm.dirty_limit applied, thp.enabled applied, " +
	"disk.scheduler applied, limits.nofile applied, fs.noatime applied, limits.unit kept"

func TestApplyMakesEveryKindOfChange(t *testing.T) {
	tree, _ := machineTree(t)
	sameStates(t, "Apply(plan)", allApplied, statesOf(mustApply(t, tree, planOfAll(), ApplyOptions{})))
	for _, row := range []struct{ path, want string }{
		{swappinessFile, "1\n"},
		{tcpRmemFile, "4096 131072 16777216\n"},
		{dirtyBytesFile, "8589934592\n"},
		{dirtyRatioFile, "0\n"},
		{hugePagesFile, "always [madvise] never\n"},
		{schedulerFile, "[none] mq-deadline bfq\n"},
		{"/proc/4711/limits", limitsText("500000", "524288")},
		{"/proc/self/mountinfo", mountsText("noatime")},
		{SysctlFile, ownHeader + sumPrefix + sha256Of("vm.swappiness = 1\nnet.ipv4.tcp_rmem = 4096 131072 16777216\nvm.dirty_bytes = 8589934592\n") +
			"\nvm.swappiness = 1\nnet.ipv4.tcp_rmem = 4096 131072 16777216\nvm.dirty_bytes = 8589934592\n"},
	} {
		got := readText(t, tree.root, row.path)
		must.True(t, got == row.want, "%s after Apply is\n%q, want\n%q", row.path, got, row.want)
	}
	unit := readText(t, tree.root, DropIn("kafka.service"))
	if want := "[Service]\nLimitNOFILE=500000\n"; !strings.HasSuffix(unit, want) || strings.Count(unit, "[Service]") != 1 {
		t.Errorf("the drop-in after Apply is\n%s\nwant at its end\n%s", unit, want)
	}
}

func TestApplyingAgainWritesNothing(t *testing.T) {
	tree, k := machineTree(t)
	mustApply(t, tree, planOfAll(), ApplyOptions{})
	tree.after = func(step string) { t.Errorf("the second Apply made a step: %s", step) }
	want := strings.NewReplacer("applied", "unchanged", "kept", "unchanged").Replace(allApplied)
	unchanged(t, tree, k, func() {
		sameStates(t, "Apply(plan) again", want, statesOf(mustApply(t, tree, planOfAll(), ApplyOptions{})))
	})
}

func TestApplyWithoutWorkLeavesNothing(t *testing.T) {
	tree, k := machineTree(t)
	c := Change{Setting: "vm.swappiness", Kind: WriteFile, Path: swappinessFile, Old: "60", New: "60"}
	unchanged(t, tree, k, func() {
		sameStates(t, "Apply", "vm.swappiness unchanged", statesOf(mustApply(t, tree, []Change{c}, ApplyOptions{})))
	})
}

func TestApplyForNowOrForLaterOnly(t *testing.T) {
	for _, row := range []struct {
		name    string
		options ApplyOptions
		want    string
		value   string
		file    bool
	}{
		{
			"for now only, no file is written",
			ApplyOptions{Runtime: true},
			strings.Replace(allApplied, "kept", "skipped", 1), "1\n", false,
		},
		{
			"for later only, no value is written, and what could not last is left out",
			ApplyOptions{Persist: true},
			"vm.swappiness kept, net.tcp_rmem kept, vm.dirty_limit kept, thp.enabled kept, " +
				"disk.scheduler kept, limits.nofile kept, fs.noatime skipped, limits.unit kept", "60\n", true,
		},
		{"both", ApplyOptions{Runtime: true, Persist: true}, allApplied, "1\n", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			tree, _ := machineTree(t)
			before := snapshotOf(t, tree.root)
			sameStates(t, "Apply", row.want, statesOf(mustApply(t, tree, planOfAll(), row.options)))
			must.Match(t, row.value, readText(t, tree.root, swappinessFile), "%s", swappinessFile)
			_, err := os.Stat(tree.at(SysctlFile))
			must.True(t, (err == nil) == row.file, "Stat(%s) = %v, want it to be there: %t", SysctlFile, err, row.file)
			mustRollback(t, tree, false)
			sameTree(t, "the tree after Rollback", before, snapshotOf(t, tree.root))
		})
	}
}

func TestOneChangeFailsAndOthersGoOn(t *testing.T) {
	for _, row := range []struct {
		name   string
		damage func(*testing.T, *Tree, *folderKernel)
		want   string // what the error of vm.swappiness says
	}{
		{"the file system is read-only", func(_ *testing.T, _ *Tree, k *folderKernel) {
			k.refuses = map[string]error{swappinessFile: &os.PathError{Op: "open", Path: "/somewhere", Err: syscall.EROFS}}
		}, "set /proc/sys/vm/swappiness: read-only file system"},
		{"kt may not write", func(_ *testing.T, _ *Tree, k *folderKernel) {
			k.refuses = map[string]error{swappinessFile: &os.PathError{Op: "open", Path: "/somewhere", Err: syscall.EACCES}}
		}, "set /proc/sys/vm/swappiness: permission denied: " + whyRefused(os.Geteuid())},
		{"the kernel does not take the value", func(_ *testing.T, _ *Tree, k *folderKernel) {
			k.refuses = map[string]error{swappinessFile: syscall.EINVAL}
		}, "set /proc/sys/vm/swappiness: invalid argument"},
		{"the kernel makes another value of it", func(_ *testing.T, _ *Tree, k *folderKernel) {
			k.rounds = map[string]string{swappinessFile + " = 1": "2"}
		}, `/proc/sys/vm/swappiness: the kernel made "2" of "1"`},
		{"the file is not there", func(t *testing.T, tree *Tree, _ *folderKernel) {
			must.Do(t, os.Remove(tree.at(swappinessFile)))
		}, "read /proc/sys/vm/swappiness: no such file or directory"},
		{"the value is another than when it was looked at", func(t *testing.T, tree *Tree, _ *folderKernel) {
			putText(t, tree.root, swappinessFile, "40\n")
		}, `/proc/sys/vm/swappiness was "60" when kt read it and is "40" now: check again`},
	} {
		t.Run(row.name, func(t *testing.T) {
			tree, k := machineTree(t)
			row.damage(t, tree, k)
			before := snapshotOf(t, tree.root)
			outcomes := mustApply(t, tree, planOfAll(), ApplyOptions{})
			sameStates(t, "Apply", strings.Replace(allApplied, "vm.swappiness applied", "vm.swappiness failed", 1), statesOf(outcomes))
			failsWith(t, "vm.swappiness", outcomes[0].Err, row.want)
			text := readText(t, tree.root, SysctlFile)
			must.True(t, !strings.Contains(text, "swappiness"), "%s has a line of the change that failed:\n%s", SysctlFile, text)
			text = readText(t, tree.root, journalFile)
			must.True(t, !strings.Contains(text, "vm.swappiness"), "the journal has the change that failed:\n%s", text)
			k.refuses, k.rounds = nil, nil
			mustRollback(t, tree, false)
			sameTree(t, "the tree after Rollback", before, snapshotOf(t, tree.root))
		})
	}
}

func TestAnApplyOfWhichAllFailsLeavesNothing(t *testing.T) {
	inTheWay := func(t *testing.T, tree *Tree, _ *folderKernel) {
		putText(t, tree.root, beside(SysctlFile)+"/theirs", "")
	}
	for _, row := range []struct {
		name    string
		damage  func(*testing.T, *Tree, *folderKernel)
		changes []Change
		options ApplyOptions
	}{
		{"the kernel takes no value", func(_ *testing.T, _ *Tree, k *folderKernel) {
			k.refuses = map[string]error{swappinessFile: syscall.EROFS, tcpRmemFile: syscall.EROFS}
		}, planOfAll()[:2], ApplyOptions{}},
		{"the kernel makes another value, which is taken back", func(_ *testing.T, _ *Tree, k *folderKernel) {
			k.rounds = map[string]string{dirtyBytesFile + " = 8589934592": "8589930496"}
		}, planOfAll()[2:3], ApplyOptions{}},
		{"the same value is wanted twice, and not taken", func(_ *testing.T, _ *Tree, k *folderKernel) {
			k.refuses = map[string]error{swappinessFile: syscall.EROFS}
		}, []Change{planOfAll()[0], planOfAll()[0]}, ApplyOptions{Runtime: true}},
		{"the only file cannot be written", inTheWay, []Change{
			{Setting: "a", Kind: KeepOnly, New: "1", Keep: []Line{{File: SysctlFile, Text: "vm.swappiness = 1"}}},
		}, ApplyOptions{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			tree, k := machineTree(t)
			row.damage(t, tree, k)
			before := snapshotOf(t, tree.root)
			for _, o := range mustApply(t, tree, row.changes, row.options) {
				must.True(t, o.State == Failed && o.Err != nil, "Apply: %s is %s, %v; want %s and why", o.Change.Setting, o.State, o.Err, Failed)
			}
			sameTree(t, "the tree after Apply", before, snapshotOf(t, tree.root))
		})
	}
}

// TestAFailureDoesNotForgetWhatCameBefore is of a value that kt's file of an earlier
// Apply will set at the next start.
func TestAFailureDoesNotForgetWhatCameBefore(t *testing.T) {
	tree, k := machineTree(t)
	before := snapshotOf(t, tree.root)
	mustApply(t, tree, planOfAll()[:1], ApplyOptions{Persist: true})
	k.refuses = map[string]error{swappinessFile: syscall.EROFS}
	sameStates(t, "Apply", "vm.swappiness failed", statesOf(mustApply(t, tree, planOfAll()[:1], ApplyOptions{})))
	k.refuses = nil
	putText(t, tree.root, swappinessFile, "1\n")
	sameStates(t, "Rollback", "sysctl.d/zz-kt.conf restored, vm.swappiness restored", undoneStates(mustRollback(t, tree, false)))
	sameTree(t, "the tree after Rollback", before, snapshotOf(t, tree.root))
}

func TestMoreOpenFilesThanTheKernelAllowsAreNotKept(t *testing.T) {
	unit := DropIn("kafka.service")
	nofile := func(file, text string) Change {
		l := Line{File: file, Text: text}
		if file == unit {
			l.Head = "[Service]"
		}
		return Change{Setting: "nofile", Kind: KeepOnly, New: "2000000", Keep: []Line{l}}
	}
	raise := Sysctl("nr_open", "fs.nr_open", "1048576", "2000000")
	refuse := func(_ *testing.T, _ *Tree, k *folderKernel) {
		k.refuses = map[string]error{nrOpenFile: syscall.EROFS}
	}
	untold := func(t *testing.T, tree *Tree, _ *folderKernel) {
		must.Do(t, os.Remove(tree.at(nrOpenFile)))
	}
	earlier := func(t *testing.T, tree *Tree, _ *folderKernel) {
		mustApply(t, tree, []Change{raise}, ApplyOptions{Persist: true})
	}
	for _, row := range []struct {
		name    string
		prepare func(*testing.T, *Tree, *folderKernel)
		changes []Change
		options ApplyOptions
		want    string
	}{
		{"a unit's limit above it", nil, []Change{nofile(unit, "LimitNOFILE=2000000")}, ApplyOptions{}, "nofile failed"},
		{"a user's limit above it", nil, []Change{nofile(LimitsFile, "kafka hard nofile 1048577")}, ApplyOptions{}, "nofile failed"},
		{"a limit as high as it", nil, []Change{nofile(LimitsFile, "kafka hard nofile 1048576")}, ApplyOptions{}, "nofile kept"},
		{"it is raised with the limit", nil, []Change{raise, nofile(unit, "LimitNOFILE=2000000")}, ApplyOptions{}, "nr_open applied, nofile kept"},
		{"it could not be raised", refuse, []Change{raise, nofile(unit, "LimitNOFILE=2000000")}, ApplyOptions{}, "nr_open failed, nofile failed"},
		{
			"it raised by the same files", nil,
			[]Change{raise, nofile(unit, "LimitNOFILE=2000000")},
			ApplyOptions{Persist: true},
			"nr_open kept, nofile kept",
		},
		{"it raised by an earlier line", earlier, []Change{nofile(unit, "LimitNOFILE=2000000")}, ApplyOptions{Persist: true}, "nofile kept"},
		{"it will not be raised enough", earlier, []Change{nofile(unit, "LimitNOFILE=2000001")}, ApplyOptions{Persist: true}, "nofile failed"},
		{"it is not told", untold, []Change{nofile(unit, "LimitNOFILE=2000000")}, ApplyOptions{}, "nofile kept"},
	} {
		t.Run(row.name, func(t *testing.T) {
			tree, k := machineTree(t)
			putText(t, tree.root, nrOpenFile, "1048576\n")
			if row.prepare != nil {
				row.prepare(t, tree, k)
			}
			outcomes := mustApply(t, tree, row.changes, row.options)
			sameStates(t, "Apply", row.want, statesOf(outcomes))
			last := outcomes[len(outcomes)-1]
			must.True(t, last.State != Failed || last.Err != nil && strings.Contains(last.Err.Error(), "is above fs.nr_open, which is "),
				"Apply: the error is %v, want that it is above fs.nr_open", last.Err)
			_, err := os.Stat(tree.at(last.Change.Keep[0].File))
			must.True(t, (err == nil) == (last.State == Kept), "Stat(%s) = %v after the change is %s", last.Change.Keep[0].File, err, last.State)
		})
	}
}

func TestARoundedValueIsTakenBackAtOnce(t *testing.T) {
	tree, k := machineTree(t)
	k.rounds = map[string]string{dirtyBytesFile + " = 8589934592": "8589930496"}
	mustApply(t, tree, planOfAll()[2:3], ApplyOptions{})
	got := k.writes
	must.True(t, len(got) == 2 && got[1] == dirtyRatioFile+" = 20", "Apply wrote %q, want the old value of the pair last", got)
}

func TestAChangeThatALaterOneUndoesIsMadeAgain(t *testing.T) {
	tree, _ := machineTree(t)
	before := snapshotOf(t, tree.root)
	changes := []Change{
		{Setting: "disk.nr_requests", Kind: WriteFile, Path: requestsFile, Old: "64", New: "1024"},
		planOfAll()[4],
	}
	sameStates(t, "Apply", "disk.nr_requests applied, disk.scheduler applied", statesOf(mustApply(t, tree, changes, ApplyOptions{})))
	must.Match(t, "1024\n", readText(t, tree.root, requestsFile), "%s", requestsFile)
	mustRollback(t, tree, false)
	sameTree(t, "the tree after Rollback", before, snapshotOf(t, tree.root))
}

func TestAProcessThatEndedIsNotChanged(t *testing.T) {
	tree, k := machineTree(t)
	putText(t, tree.root, "/proc/4711/stat", "4711 (cat) S 1 4711 4711 0 -1 4194560 1 0 0 0 1 1 0 0 20 0 60 0 999999 1 1\n")
	outcomes := mustApply(t, tree, planOfAll()[5:6], ApplyOptions{})
	sameStates(t, "Apply", "limits.nofile failed", statesOf(outcomes))
	failsWith(t, "Apply", outcomes[0].Err, "process 4711: it has ended")
	must.True(t, len(k.writes) == 0, "Apply wrote %q", k.writes)
}

func TestApplyRefusesWholeAndChangesNothing(t *testing.T) {
	for _, row := range []struct {
		name    string
		prepare func(*testing.T, *Tree)
		changes []Change
		want    string
	}{
		{"a file of that name is somebody else's", func(t *testing.T, tree *Tree) {
			putText(t, tree.root, SysctlFile, "vm.swappiness = 5\n")
		}, planOfAll(), SysctlFile + " is not kt's: move it away, or take its lines over by hand"},
		{"a file of that name is a link", func(t *testing.T, tree *Tree) {
			must.Do(t, os.Symlink("99-local.conf", tree.at(SysctlFile)))
		}, planOfAll(), SysctlFile + " is not kt's"},
		{"a file was made by a kt with another journal", func(t *testing.T, tree *Tree) {
			f := ownFile{Path: SysctlFile, Lines: []Line{{Text: "vm.swappiness = 5"}}}
			putText(t, tree.root, SysctlFile, f.content(ownHeader))
		}, planOfAll(), SysctlFile + " was made by kt, but not by an --apply on this machine: remove it first"},
		{"two changes want two values of one file", nil, []Change{
			Sysctl("a", "vm.swappiness", "60", "1"), Sysctl("b", "vm.swappiness", "60", "10"),
		}, `change of b: /proc/sys/vm/swappiness is to become "10" and, by a, "1"`},
		{"a path is no value of the kernel's", nil, []Change{
			{Setting: "a", Kind: WriteFile, Path: "/etc/passwd", New: "1"},
		}, `change of a: "/etc/passwd" is no file of the kernel's`},
		{"a path leaves its folder", nil, []Change{
			{Setting: "a", Kind: WriteFile, Path: "/proc/sys/../../etc/passwd", New: "1"},
		}, `change of a: "/proc/sys/../../etc/passwd" is no path from the root`},
		{"a file of kt's would be outside /etc", nil, []Change{
			{Setting: "a", Kind: KeepOnly, Keep: []Line{{File: "/usr/lib/sysctl.d/zz-kt.conf", Text: "a = 1"}}},
		}, `change of a: /usr/lib/sysctl.d/zz-kt.conf: "a = 1": kt writes no such line`},
		{"a file of kt's would have the name of another's", nil, []Change{
			{Setting: "a", Kind: KeepOnly, Keep: []Line{{File: "/etc/sysctl.conf", Text: "a = 1"}}},
		}, `change of a: /etc/sysctl.conf: "a = 1": kt writes no such line`},
		{"a line is two", nil, []Change{
			{Setting: "a", Kind: KeepOnly, Keep: []Line{{File: SysctlFile, Text: "a = 1\nb = 2"}}},
		}, `change of a: /etc/sysctl.d/zz-kt.conf: "a = 1\nb = 2": kt writes no such line`},
		{"a remount is of something else than access times", nil, []Change{
			{Setting: "a", Kind: Remount, Path: "/data/kafka1", New: "nobarrier"},
		}, `change of a: kt does not remount from "" to "nobarrier"`},
		{"a member of a pair is to become 0", nil, []Change{
			{Setting: "a", Kind: WriteFile, Path: dirtyBytesFile, New: "0", Pair: dirtyRatioFile},
		}, "change of a: 0 is no value for one of a pair"},
		{"a path is no setting's", nil, []Change{
			{Setting: "a", Kind: WriteFile, Path: "/proc/sys/kernel/core_pattern", New: "|/tmp/program"},
		}, "change of a: /proc/sys/kernel/core_pattern is not among the files that kt sets"},
		{"a value is none of its setting's", nil, []Change{
			Sysctl("a", "vm.swappiness", "60", "|/tmp/program"),
		}, `change of a: /proc/sys/vm/swappiness: "|/tmp/program" is out of range, which is 0 to 200`},
		{"a line would run a program", nil, []Change{
			{Setting: "a", Kind: KeepOnly, Keep: []Line{{File: UdevFile, Text: `ACTION=="add", RUN+="/tmp/program"`}}},
		}, `change of a: ` + UdevFile + `: "ACTION==\"add\", RUN+=\"/tmp/program\"": kt writes no such line`},
		{"a kind is unknown", nil, []Change{{Setting: "a", Kind: "format"}}, `change of a: there is no kind "format"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			tree, k := machineTree(t)
			if row.prepare != nil {
				row.prepare(t, tree)
			}
			unchanged(t, tree, k, func() {
				failsWith(t, "Apply", onlyError(tree.Apply(row.changes, ApplyOptions{})), row.want)
			})
		})
	}
}

func TestApplyRefusesAnEditedFile(t *testing.T) {
	tree, k := machineTree(t)
	mustApply(t, tree, planOfAll(), ApplyOptions{})
	putText(t, tree.root, SysctlFile, readText(t, tree.root, SysctlFile)+"vm.max_map_count = 1\n")
	unchanged(t, tree, k, func() {
		failsWith(t, "Apply", onlyError(tree.Apply(otherPlan(), ApplyOptions{})), SysctlFile+" was made by kt and edited since")
	})
}

func TestAnotherProfileReplacesLinesAndKeepsTheFirstOldValue(t *testing.T) {
	tree, _ := machineTree(t)
	before := snapshotOf(t, tree.root)
	mustApply(t, tree, planOfAll(), ApplyOptions{})
	sameStates(t, "Apply(otherPlan)", "vm.swappiness applied, vm.dirty_limit applied", statesOf(mustApply(t, tree, otherPlan(), ApplyOptions{})))
	want := "net.ipv4.tcp_rmem = 4096 131072 16777216\nvm.swappiness = 10\nvm.dirty_ratio = 60\n"
	if got := readText(t, tree.root, SysctlFile); !strings.HasSuffix(got, "\n"+want) || strings.Count(got, "\n") != 5 {
		t.Errorf("%s after another profile is\n%s\nwant the lines\n%s", SysctlFile, got, want)
	}
	mustRollback(t, tree, false)
	sameTree(t, "the tree after Rollback", before, snapshotOf(t, tree.root))
}

func TestASecondApplyAtTheSameTimeIsRefused(t *testing.T) {
	tree, _ := machineTree(t)
	other, _ := treeOf(tree.root)
	_, unlock := must.Both(tree.lock(true))(t)
	failsWith(t, "Apply beside another", onlyError(other.Apply(planOfAll(), ApplyOptions{})), errBusy.Error())
	failsWith(t, "Rollback beside another", onlyError(other.Rollback(false)), errBusy.Error())
	unlock()
	sameStates(t, "Apply after the other", allApplied, statesOf(mustApply(t, other, planOfAll(), ApplyOptions{})))
}

func TestFilesAreReadableWhateverTheUmask(t *testing.T) {
	tree, _ := machineTree(t)
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	mustApply(t, tree, planOfAll(), ApplyOptions{})
	for p, want := range map[string]os.FileMode{
		SysctlFile: 0o644, filepath.Dir(DropIn("kafka.service")): 0o755, JournalFolder: 0o755, journalFile: 0o644,
	} {
		info := must.Have(os.Stat(tree.at(p)))(t)
		must.Match(t, want, info.Mode().Perm(), "the mode of %s", p)
	}
}
