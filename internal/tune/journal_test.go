package tune

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

func TestABrokenJournalIsRefused(t *testing.T) {
	for _, row := range []struct {
		name   string
		damage func(string) string
		want   string
	}{
		{"cut off in the middle", func(s string) string { return s[:len(s)/2] }, "is broken: unexpected EOF"},
		{"empty", func(string) string { return "" }, "is broken: EOF"},
		{"with a second one after it", func(s string) string { return s + s }, "is broken: something follows its end"},
		{"full of zeros, as after a power cut", func(s string) string { return strings.Repeat("\x00", len(s)) }, "is broken: invalid character"},
		{"without a schema", func(string) string { return "{}" }, "is broken: it has no schema"},
		{"of a later kt", func(s string) string {
			return strings.Replace(strings.Replace(s, `"schema": 1`, `"schema": 2`, 1), "v1.2.3", "v9.0.0", 1)
		}, "was written by kt v9.0.0, which is newer than this one"},
		{"with a value that is nowhere", func(s string) string {
			return strings.Replace(s, swappinessFile, "/etc/passwd", 1)
		}, "is broken: value 1 is not one that kt sets"},
		{"with a file that is no place for kt's", func(s string) string {
			return strings.Replace(s, `"path": "`+SysctlFile+`"`, `"path": "/usr/bin/env"`, 1)
		}, "is broken: file 1 is not kt's"},
		{"with a line for such a file", func(s string) string {
			return strings.Replace(s, `"file": "`+SysctlFile+`"`, `"file": "/usr/bin/env"`, 1)
		}, "is broken: value 1 is not one that kt sets"},
		{"with a folder that is none", func(s string) string {
			return strings.Replace(s, `"/var/lib/kt-tune"`, `"../kt"`, 1)
		}, `is broken: "../kt" is no folder`},
	} {
		t.Run(row.name, func(t *testing.T) {
			tree, k := machineTree(t)
			mustApply(t, tree, planOfAll(), ApplyOptions{})
			putText(t, tree.root, journalFile, row.damage(readText(t, tree.root, journalFile)))
			want := "journal: " + journalFile + ": " + row.want
			unchanged(t, tree, k, func() {
				failsWith(t, "Status", onlyError(tree.Status()), want)
				failsWith(t, "Apply", onlyError(tree.Apply(planOfAll(), ApplyOptions{})), want)
				failsWith(t, "Rollback", onlyError(tree.Rollback(false)), want)
			})
		})
	}
}

func TestAJournalThatOthersMayWriteIsRefused(t *testing.T) {
	for _, p := range []string{journalFile, JournalFolder} {
		tree, k := machineTree(t)
		mustApply(t, tree, planOfAll(), ApplyOptions{})
		must.Do(t, os.Chmod(tree.at(p), 0o777))
		unchanged(t, tree, k, func() {
			failsWith(t, "Rollback", onlyError(tree.Rollback(false)), "journal: "+p+" may be written by others than root")
		})
	}
}

func TestAFolderThatWasMadeAnewIsAnother(t *testing.T) {
	tree, _ := machineTree(t)
	must.Do(t, tree.makeFolders(JournalFolder))
	f := must.Have(os.Open(tree.at(JournalFolder)))(t)
	defer f.Close()
	must.True(t, tree.same(f), "the folder is another than itself")
	tree.dropFolders([]string{JournalFolder})
	must.True(t, !tree.same(f), "a folder that is gone is still the journal's")
	must.Do(t, tree.makeFolders(JournalFolder))
	must.True(t, !tree.same(f), "the folder that was is still the journal's, and another has its place")
}

// mountSmall mounts a file system with room for some pages of 4 KiB.
func mountSmall(t *testing.T, dir, size string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root, to mount a small file system")
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "mode=755,size="+size, "none", dir).CombinedOutput(); err != nil {
		t.Skipf("needs a small file system, and mount does not make one here: %v: %s", err, out)
	}
	t.Cleanup(func() {
		out, err := exec.Command("umount", dir).CombinedOutput()
		must.True(t, err == nil, "umount %s: %v: %s", dir, err, out)
	})
}

// fill takes all room of a file system but for some bytes.
func fill(t *testing.T, file string, leave int64) {
	t.Helper()
	f, err := os.Create(file)
	must.Hold(t, err == nil, "%v", err)
	defer f.Close()
	for page := make([]byte, 4096); err == nil; {
		_, err = f.Write(page)
	}
	must.Hold(t, errors.Is(err, syscall.ENOSPC), "%v", err)
	info := must.Have(f.Stat())(t)
	must.Do(t, f.Truncate(info.Size()-leave))
}

func TestAFullDiskUnderTheJournalChangesNothing(t *testing.T) {
	tree, k := machineTree(t)
	mountSmall(t, tree.at("/var/lib"), "64k")
	fill(t, tree.at("/var/lib/full"), 0)
	unchanged(t, tree, k, func() {
		failsWith(t, "Apply", onlyError(tree.Apply(planOfAll(), ApplyOptions{})), "journal: write "+journalFile+": no space left on device")
	})
}

func TestAFullDiskUnderTheFilesLeavesTheRestApplied(t *testing.T) {
	tree, _ := machineTree(t)
	etc := tree.at("/etc/sysctl.d")
	mountSmall(t, etc, "16k")
	fill(t, filepath.Join(etc, "full"), 0)
	before := snapshotOf(t, tree.root)
	outcomes := mustApply(t, tree, planOfAll(), ApplyOptions{})
	sameStates(t, "Apply", strings.NewReplacer("vm.swappiness applied", "vm.swappiness failed", "net.tcp_rmem applied", "net.tcp_rmem failed",
		"vm.dirty_limit applied", "vm.dirty_limit failed").Replace(allApplied), statesOf(outcomes))
	failsWith(t, "vm.swappiness", outcomes[0].Err, "it will not last: write "+SysctlFile+": no space left on device")
	mustRollback(t, tree, false)
	sameTree(t, "the tree after Rollback", before, snapshotOf(t, tree.root))
}

// TestAFullDiskInTheMiddle is of a journal that cannot be written a second time, when
// kt's own files are to be noted.
func TestAFullDiskInTheMiddle(t *testing.T) {
	tree, _ := machineTree(t)
	lib := tree.at("/var/lib")
	mountSmall(t, lib, "64k")
	before := snapshotOf(t, tree.root)
	tree.after = func(step string) {
		if step == "set "+swappinessFile {
			fill(t, filepath.Join(lib, "full"), 0)
		}
	}
	outcomes := mustApply(t, tree, planOfAll(), ApplyOptions{})
	tree.after = nil
	for _, o := range outcomes {
		must.True(t, len(o.Change.Keep) == 0 || o.State == Failed && o.Err != nil && strings.Contains(o.Err.Error(), "no space left"),
			"Apply: %s is %s, %v; want that it failed for want of space", o.Change.Setting, o.State, o.Err)
	}
	_, err := os.Stat(tree.at(SysctlFile))
	must.True(t, os.IsNotExist(err), "Stat(%s) = %v: it was written, and no journal knows it", SysctlFile, err)
	mustRollback(t, tree, false) // on a disk that is still full
	must.Do(t, os.Remove(filepath.Join(lib, "full")))
	sameTree(t, "the tree after Rollback", before, snapshotOf(t, tree.root))
}

func TestWhatIsRefusedSaysWhatRightsAreMissing(t *testing.T) {
	user, root := whyRefused(1000), whyRefused(0)
	must.True(t, user == "this needs all rights of root" && root != user, "a user is told %q, and root %q", user, root)
}

func TestWithoutRightsTheReasonIsSaid(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may do everything")
	}
	tree, _ := machineTree(t)
	must.Do(t, os.Chmod(tree.at("/var/lib"), 0o555))
	failsWith(t, "Apply", onlyError(tree.Apply(planOfAll(), ApplyOptions{})), "journal: make folder /var/lib/kt-tune: permission denied: this needs all rights of root")
}

// FuzzParseJournal: whatever a journal holds, kt does not panic, and one that it takes
// names only values of the kernel's, and files and folders that may be kt's.
func FuzzParseJournal(f *testing.F) {
	f.Add([]byte(`{"schema":1,"values":[{"setting":"a","kind":"write","path":"/proc/sys/a","old":"1","ours":["2"]}]}`))
	f.Add([]byte(`{"schema":1,"values":[{"kind":"prlimit","pid":1,"old":"1 unlimited"}],"files":[{"path":"/etc/x/zz-kt.conf"}],"folders":["/etc/x"]}`))
	f.Add([]byte(`{"schema":1,"values":[null]}`))
	f.Add([]byte(`{"schema":1,"values":[{"kind":"write","path":"/sys/a","old":"1","pair":"/etc/shadow"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		j, err := parseJournal(b)
		if err != nil {
			return
		}
		for _, e := range j.Entries {
			for _, p := range []string{e.Path, cmp.Or(otherOfPair(e.Path), e.Path)} { // a rollback writes either
				must.True(t, e.Kind != WriteFile || checkValuePath(p) == nil,
					"parseJournal took a value at %q, which may be written at %q", e.Path, p)
			}
		}
		for _, o := range j.Files {
			must.Err(t, "", checkOwnPath(o.Path), "parseJournal took the file %q", o.Path)
		}
	})
}

func TestLinesAboutTheSameTakeEachOthersPlace(t *testing.T) {
	unit := DropIn("kafka.service")
	for _, row := range []struct {
		name, file, a, b string
		want             bool
	}{
		{"one setting with two values", SysctlFile, "vm.swappiness = 1", "vm.swappiness=10", true},
		{"two settings", SysctlFile, "vm.swappiness = 1", "vm.overcommit_memory = 1", false},
		{"the two of a dirty limit", SysctlFile, "vm.dirty_ratio = 60", "vm.dirty_bytes = 8589934592", true},
		{"two dirty limits", SysctlFile, "vm.dirty_ratio = 60", "vm.dirty_background_ratio = 5", false},
		{"one file with two values", TmpfilesFile, "w /sys/a - - - - never", "w  /sys/a - - - - madvise", true},
		{"two files", TmpfilesFile, "w /sys/a - - - - never", "w /sys/b - - - - never", false},
		{"one disk's attribute", UdevFile, `ENV{ID_WWN}=="0x1", ATTR{queue/scheduler}="none"`, `ENV{ID_WWN}=="0x1", ATTR{queue/scheduler}="bfq"`, true},
		{"two attributes of a disk", UdevFile, `ENV{ID_WWN}=="0x1", ATTR{queue/scheduler}="none"`, `ENV{ID_WWN}=="0x1", ATTR{queue/nomerges}="0"`, false},
		{"an attribute of two disks", UdevFile, `ENV{ID_WWN}=="0x1", ATTR{queue/scheduler}="none"`, `ENV{ID_WWN}=="0x2", ATTR{queue/scheduler}="none"`, false},
		{"a user's limit", LimitsFile, "kafka soft nofile 100000", "kafka soft nofile 500000", true},
		{"a user's two limits", LimitsFile, "kafka soft nofile 100000", "kafka hard nofile 100000", false},
		{"a unit's limit", unit, "LimitNOFILE=100000", "LimitNOFILE=500000", true},
		{"a unit's two limits", unit, "LimitNOFILE=100000", "LimitNPROC=100000", false},
	} {
		a, b := lineName(row.file, row.a), lineName(row.file, row.b)
		must.True(t, (a == b) == row.want,
			"%s: lineName(%q) = %q, lineName(%q) = %q; want them to be one: %t", row.name, row.a, a, row.b, b, row.want)
	}
}

func TestHeadsStandOnceBeforeTheirLines(t *testing.T) {
	f := ownFile{Lines: []Line{{"", "a=1", "[Service]"}, {"", "b=1", "[Unit]"}, {"", "c=1", ""}, {"", "d=1", "[Service]"}}}
	want := "c=1\n[Service]\na=1\nd=1\n[Unit]\nb=1\n"
	got := f.content(ownHeader)
	_, rest, _ := strings.Cut(got, "\n")
	_, rest, _ = strings.Cut(rest, "\n")
	must.True(t, rest == want, "content =\n%s\nwant after its two lines\n%s", got, want)
	must.True(t, sumHolds(got), "content =\n%s\nwhose sum does not hold", got)
	must.True(t, !sumHolds(strings.Replace(got, "a=1", "a=2", 1)), "the sum holds of an edited file")
}
