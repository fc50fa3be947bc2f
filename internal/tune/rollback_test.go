package tune

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

const allRestored = "sysctl.d/zz-kt.conf restored, tmpfiles.d/zz-kt.conf restored, rules.d/99-zz-kt.rules restored, " +
	"kafka.service.d/zz-kt.conf restored, vm.swappiness restored, net.tcp_rmem restored, vm.dirty_limit restored, " +
	"thp.enabled restored, disk.scheduler restored, limits.nofile restored, fs.noatime restored"

// stateList is allRestored with others in place of some: "vm.swappiness drifted".
func stateList(others ...string) string {
	list := allRestored
	for _, o := range others {
		name, _, _ := strings.Cut(o, " ")
		list = strings.Replace(list, name+" restored", o, 1)
	}
	return list
}

func TestRollbackPutsEverythingBack(t *testing.T) {
	tree, k := machineTree(t)
	before := snapshotOf(t, tree.root)
	mustApply(t, tree, planOfAll(), ApplyOptions{})
	k.writes = nil
	sameStates(t, "Rollback", allRestored, undoneStates(mustRollback(t, tree, false)))
	sameTree(t, "the tree after Rollback", before, snapshotOf(t, tree.root))
	for _, w := range k.writes {
		must.True(t, w != dirtyBytesFile+" = 0", "Rollback wrote %q, want the other one of the pair to be written", w)
	}
	unchanged(t, tree, k, func() {
		sameStates(t, "Rollback again", "", append(undoneStates(mustRollback(t, tree, false)), ""))
	})
}

func TestRollbackOfAnUntouchedMachineDoesNothing(t *testing.T) {
	tree, _ := machineTree(t)
	tree.after = func(step string) { t.Errorf("Rollback made a step: %s", step) }
	undone := mustRollback(t, tree, false)
	must.True(t, len(undone) == 0, "Rollback = %v, want nothing", undone)
}

func TestWhatSomebodyElseChangedIsLeft(t *testing.T) {
	ended := func(t *testing.T, tree *Tree) {
		must.Do(t, os.RemoveAll(tree.at("/proc/4711")))
	}
	for _, row := range []struct {
		name   string
		meddle func(*testing.T, *Tree)
		want   string
		force  string // what a forced Rollback after that says, "" where nothing is left to do
	}{
		{"a value was set by hand", func(t *testing.T, tree *Tree) {
			putText(t, tree.root, swappinessFile, "7\n")
		}, stateList("vm.swappiness drifted"), "vm.swappiness restored"},
		{"a value was put back by hand", func(t *testing.T, tree *Tree) {
			putText(t, tree.root, swappinessFile, "60\n")
		}, stateList("vm.swappiness already"), ""},
		{"the other one of a pair was set", func(t *testing.T, tree *Tree) {
			putText(t, tree.root, dirtyBytesFile, "0\n")
			putText(t, tree.root, dirtyRatioFile, "33\n")
		}, stateList("vm.dirty_limit drifted"), "vm.dirty_limit restored"},
		{"a pair was put back by hand", func(t *testing.T, tree *Tree) {
			putText(t, tree.root, dirtyBytesFile, "0\n")
			putText(t, tree.root, dirtyRatioFile, "20\n")
		}, stateList("vm.dirty_limit already"), ""},
		{"a file of kt's was edited", func(t *testing.T, tree *Tree) {
			putText(t, tree.root, SysctlFile, readText(t, tree.root, SysctlFile)+"# mine\n")
		}, stateList("sysctl.d/zz-kt.conf drifted"), "sysctl.d/zz-kt.conf restored"},
		{"a file of kt's was replaced", func(t *testing.T, tree *Tree) {
			putText(t, tree.root, SysctlFile, "vm.swappiness = 5\n")
		}, stateList("sysctl.d/zz-kt.conf drifted"), "sysctl.d/zz-kt.conf drifted"},
		{"a file of kt's was replaced by a link", func(t *testing.T, tree *Tree) {
			must.Do(t, errors.Join(os.Remove(tree.at(SysctlFile)), os.Symlink("99-local.conf", tree.at(SysctlFile))))
		}, stateList("sysctl.d/zz-kt.conf drifted"), "sysctl.d/zz-kt.conf drifted"},
		{"a file of kt's was removed", func(t *testing.T, tree *Tree) {
			must.Do(t, os.Remove(tree.at(SysctlFile)))
		}, stateList("sysctl.d/zz-kt.conf already"), ""},
		{"the process has ended", ended, stateList("limits.nofile gone"), ""},
		{"the number of the process is another's", func(t *testing.T, tree *Tree) {
			stat := readText(t, tree.root, "/proc/4711/stat")
			putText(t, tree.root, "/proc/4711/stat", strings.Replace(stat, "123456", "999999", 1))
		}, stateList("limits.nofile gone"), ""},
		{"the name of the disk is another's", func(t *testing.T, tree *Tree) {
			putText(t, tree.root, diskIDFile, "naa.0000000000000000\n")
		}, stateList("disk.scheduler gone"), ""},
		{"the disk was pulled", func(t *testing.T, tree *Tree) {
			must.Do(t, os.RemoveAll(tree.at("/sys/block/sdb")))
		}, stateList("disk.scheduler gone"), ""},
		{"the mount is not there any more", func(t *testing.T, tree *Tree) {
			text, _, _ := strings.Cut(mountsText("noatime"), "\n")
			putText(t, tree.root, "/proc/self/mountinfo", text+"\n")
		}, stateList("fs.noatime gone"), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			tree, k := machineTree(t)
			before := snapshotOf(t, tree.root)
			mustApply(t, tree, planOfAll(), ApplyOptions{})
			row.meddle(t, tree)
			sameStates(t, "Rollback", row.want, undoneStates(mustRollback(t, tree, false)))
			if row.force == "" {
				_, err := os.Stat(tree.at(JournalFolder))
				must.True(t, os.IsNotExist(err), "Stat(%s) = %v, want that nothing is left to put back", JournalFolder, err)
				return
			}
			if row.force == "sysctl.d/zz-kt.conf drifted" { // it is somebody else's, and stays
				before[SysctlFile] = snapshotOf(t, tree.root)[SysctlFile]
			}
			k.writes = nil
			drifted := strings.Replace(row.force, "restored", "drifted", 1)
			sameStates(t, "Rollback again", drifted, undoneStates(mustRollback(t, tree, false)))
			must.True(t, len(k.writes) == 0, "the second Rollback wrote %q", k.writes)
			sameStates(t, "Rollback by force", row.force, undoneStates(mustRollback(t, tree, true)))
			sameTree(t, "the tree after a forced Rollback", before, snapshotOf(t, tree.root))
		})
	}
}

func TestAFileThatIsNotKtsIsForgottenByForce(t *testing.T) {
	tree, _ := machineTree(t)
	mustApply(t, tree, planOfAll()[:1], ApplyOptions{})
	putText(t, tree.root, SysctlFile, "vm.swappiness = 5\n")
	undone := mustRollback(t, tree, true)
	sameStates(t, "Rollback by force", "sysctl.d/zz-kt.conf drifted, vm.swappiness restored", undoneStates(undone))
	failsWith(t, "Rollback by force", undone[0].Err, SysctlFile+" is not kt's: it was left as it is, and kt has forgotten it")
	undone = mustRollback(t, tree, false)
	must.True(t, len(undone) == 0, "Rollback after it = %v, want nothing", undone)
	got := readText(t, tree.root, SysctlFile)
	must.True(t, got == "vm.swappiness = 5\n", "%s is %q, want it as somebody wrote it", SysctlFile, got)
}

// TestWhatWasThereLastIsPutBack is of values that change between two Applies.
func TestWhatWasThereLastIsPutBack(t *testing.T) {
	swappiness := func(old string) []Change { return []Change{Sysctl("a", "vm.swappiness", old, "1")} }
	requests := func(old string) []Change {
		return []Change{{Setting: "b", Kind: WriteFile, Path: requestsFile, Old: old, New: "1024"}}
	}
	bytes := planOfAll()[2]
	bytes.PairOld = "33"
	for _, row := range []struct {
		name    string
		first   []Change
		between func(*testing.T, *Tree)
		second  []Change
		path    string
		want    string
	}{
		{"kt's own value", swappiness("60"), func(*testing.T, *Tree) {}, []Change{Sysctl("a", "vm.swappiness", "1", "10")}, swappinessFile, "60\n"},
		{"a value that somebody set since", swappiness("60"), func(t *testing.T, tree *Tree) {
			putText(t, tree.root, swappinessFile, "30\n")
		}, swappiness("30"), swappinessFile, "30\n"},
		{"a value that somebody put back", swappiness("60"), func(t *testing.T, tree *Tree) {
			putText(t, tree.root, swappinessFile, "60\n")
		}, swappiness("60"), swappinessFile, "60\n"},
		{"a new default after the next start", swappiness("60"), func(t *testing.T, tree *Tree) {
			putText(t, tree.root, bootIDFile, "7b1f8a0e-8d0c-4f5e-9a77-000000000002\n")
			putText(t, tree.root, swappinessFile, "35\n")
		}, swappiness("35"), swappinessFile, "35\n"},
		{"kt's value after the next start", swappiness("60"), func(t *testing.T, tree *Tree) {
			putText(t, tree.root, bootIDFile, "7b1f8a0e-8d0c-4f5e-9a77-000000000002\n")
		}, []Change{Sysctl("a", "vm.swappiness", "1", "10")}, swappinessFile, "60\n"},
		{"the other one of a pair, that somebody set since", planOfAll()[2:3], func(t *testing.T, tree *Tree) {
			putText(t, tree.root, dirtyBytesFile, "0\n")
			putText(t, tree.root, dirtyRatioFile, "33\n")
		}, []Change{bytes}, dirtyRatioFile, "33\n"},
		{"the same one of a pair, set since, under a profile of the other one", planOfAll()[2:3], func(t *testing.T, tree *Tree) {
			putText(t, tree.root, dirtyBytesFile, "777\n")
		}, []Change{{
			Setting: "vm.dirty_limit", Kind: WriteFile, Path: dirtyRatioFile, Old: "0", New: "60", Pair: dirtyBytesFile, PairOld: "777",
		}}, dirtyBytesFile, "777\n"},
		{"what the kernel set when kt wrote something else", requests("64"), func(t *testing.T, tree *Tree) {
			mustApply(t, tree, planOfAll()[4:5], ApplyOptions{})
		}, requests("256"), requestsFile, "64\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			tree, _ := machineTree(t)
			for i, changes := range [][]Change{row.first, row.second} {
				for _, o := range mustApply(t, tree, changes, ApplyOptions{}) {
					must.Match(t, Applied, o.State, "Apply %d: %s is …, %v", i+1, o.Change.Setting, o.Err)
				}
				if i == 0 {
					row.between(t, tree)
				}
			}
			for _, u := range mustRollback(t, tree, false) {
				must.Match(t, Restored, u.State, "Rollback: %s is …, %v", u.Path, u.Err)
			}
			must.Match(t, row.want, readText(t, tree.root, row.path), "%s after Rollback", row.path)
		})
	}
}

func TestRollbackAfterTheNextStart(t *testing.T) {
	persisted := func(t *testing.T, tree *Tree, _ map[string]string) { // what the files set at the start
		putText(t, tree.root, swappinessFile, "1\n")
		putText(t, tree.root, tcpRmemFile, "4096 131072 16777216\n")
		putText(t, tree.root, dirtyBytesFile, "8589934592\n")
		putText(t, tree.root, dirtyRatioFile, "0\n")
		putText(t, tree.root, hugePagesFile, "always [madvise] never\n")
	}
	gone := []string{"limits.nofile gone", "fs.noatime already", "disk.scheduler already"}
	for _, row := range []struct {
		name  string
		start func(t *testing.T, tree *Tree, defaults map[string]string)
		want  string
	}{
		{
			"with defaults, as kt's files are gone", func(*testing.T, *Tree, map[string]string) {},
			stateList(append(gone, "vm.swappiness already", "net.tcp_rmem already", "vm.dirty_limit already", "thp.enabled already")...),
		},
		{"with what kt's files set", persisted, stateList(gone...)},
		{
			"with a default that is another than what a person had set", func(t *testing.T, tree *Tree, d map[string]string) {
				persisted(t, tree, d)
				putText(t, tree.root, swappinessFile, "35\n")
				d[swappinessFile] = "35\n"
			}, stateList(append(gone, "vm.swappiness gone")...),
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			tree, _ := machineTree(t)
			mustApply(t, tree, planOfAll(), ApplyOptions{})
			defaults := machineFiles()
			defaults[bootIDFile] = "7b1f8a0e-8d0c-4f5e-9a77-000000000002\n"
			for p, text := range defaults {
				putText(t, tree.root, p, text)
			}
			must.Do(t, os.RemoveAll(tree.at("/proc/4711")))
			row.start(t, tree, defaults)
			sameStates(t, "Rollback", row.want, undoneStates(mustRollback(t, tree, false)))
			for p, text := range defaults {
				if strings.HasPrefix(p, "/proc/4711") {
					continue
				}
				must.Match(t, text, readText(t, tree.root, p), "%s after Rollback", p)
			}
			_, err := os.Stat(tree.at(SysctlFile))
			must.True(t, os.IsNotExist(err), "Stat(%s) = %v, want it to be gone", SysctlFile, err)
		})
	}
}

// TestRollbackAfterAStartOfWhatWasOnlyKept is of an apply for later, whose values
// the machine has only since its next start.
func TestRollbackAfterAStartOfWhatWasOnlyKept(t *testing.T) {
	tree, _ := machineTree(t)
	mustApply(t, tree, planOfAll()[:1], ApplyOptions{Persist: true})
	putText(t, tree.root, bootIDFile, "7b1f8a0e-8d0c-4f5e-9a77-000000000002\n")
	putText(t, tree.root, swappinessFile, "1\n")
	sameStates(t, "Rollback", "sysctl.d/zz-kt.conf restored, vm.swappiness restored", undoneStates(mustRollback(t, tree, false)))
	must.Match(t, "60\n", readText(t, tree.root, swappinessFile), "%s", swappinessFile)
}

func TestWhatFailsStaysInTheJournal(t *testing.T) {
	tree, k := machineTree(t)
	before := snapshotOf(t, tree.root)
	mustApply(t, tree, planOfAll(), ApplyOptions{})
	k.refuses = map[string]error{hugePagesFile: syscall.EBUSY}
	undone := mustRollback(t, tree, false)
	sameStates(t, "Rollback", stateList("thp.enabled failed"), undoneStates(undone))
	u := undone[7]
	must.True(t, u.Err != nil && u.Err.Error() == "set "+hugePagesFile+": device or resource busy", "Rollback: the error of thp.enabled is %v", u.Err)
	held := must.Have(tree.Status())(t)
	sameStates(t, "Status", "thp.enabled held", undoneStates(held))
	k.refuses = nil
	sameStates(t, "Rollback again", "thp.enabled restored", undoneStates(mustRollback(t, tree, false)))
	sameTree(t, "the tree", before, snapshotOf(t, tree.root))
}

// governed is a kernel with a value that can be set only under one governor, and
// that the other one sets by itself.
type governed struct{ *folderKernel }

const (
	governorFile   = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor"
	preferenceFile = "/sys/devices/system/cpu/cpufreq/policy0/energy_performance_preference"
)

func (k governed) Write(f *os.File, value string) error {
	file := f.Name()
	governor, err := os.ReadFile(k.root + governorFile)
	if err != nil {
		return err
	}
	if strings.HasSuffix(file, preferenceFile) && string(governor) == "performance\n" && value != "performance" {
		return syscall.EBUSY
	}
	if strings.HasSuffix(file, governorFile) && value == "performance" {
		if err := k.write(k.root+preferenceFile, "performance"); err != nil {
			return err
		}
	}
	return k.write(file, value)
}

func TestValuesThatDependOnEachOtherArePutBack(t *testing.T) {
	governor := Change{Setting: "cpu.governor", Kind: WriteFile, Path: governorFile, Old: "powersave", New: "performance"}
	preference := Change{Setting: "cpu.preference", Kind: WriteFile, Path: preferenceFile, Old: "balance_power", New: "performance"}
	for _, row := range []struct {
		name    string
		changes []Change
		want    string
	}{
		{"the governor first", []Change{governor, preference}, "cpu.governor applied, cpu.preference unchanged"},
		{"the governor last", []Change{preference, governor}, "cpu.preference applied, cpu.governor applied"},
	} {
		t.Run(row.name, func(t *testing.T) {
			tree, k := machineTree(t)
			tree.kernel = governed{k}
			putText(t, tree.root, governorFile, "powersave\n")
			putText(t, tree.root, preferenceFile, "balance_power\n")
			before := snapshotOf(t, tree.root)
			sameStates(t, "Apply", row.want, statesOf(mustApply(t, tree, row.changes, ApplyOptions{Runtime: true})))
			for _, u := range mustRollback(t, tree, false) {
				must.True(t, u.State == Restored && u.Err == nil, "Rollback: %s is %s, %v; want %s", u.Setting, u.State, u.Err, Restored)
			}
			sameTree(t, "the tree after Rollback", before, snapshotOf(t, tree.root))
		})
	}
}

func TestAFolderThatOthersUseIsLeft(t *testing.T) {
	tree, _ := machineTree(t)
	before := snapshotOf(t, tree.root)
	mustApply(t, tree, planOfAll(), ApplyOptions{})
	const theirs = "/etc/tmpfiles.d/theirs.conf"
	putText(t, tree.root, theirs, "d /run/x\n")
	sameStates(t, "Rollback", allRestored, undoneStates(mustRollback(t, tree, false)))
	before[theirs] = "-rw-r--r-- d /run/x\n"
	before["/etc/tmpfiles.d"] = "drwxr-xr-x "
	sameTree(t, "the tree after Rollback", before, snapshotOf(t, tree.root))
}

func TestStatusTellsWhatKtHolds(t *testing.T) {
	tree, k := machineTree(t)
	if held, err := tree.Status(); err != nil || len(held) > 0 {
		t.Errorf("Status of an untouched machine = %v, %v; want nothing", held, err)
	}
	mustApply(t, tree, planOfAll(), ApplyOptions{})
	putText(t, tree.root, swappinessFile, "7\n")
	putText(t, tree.root, hugePagesFile, "[always] madvise never\n")
	putText(t, tree.root, TmpfilesFile, "w mine\n")
	must.Do(t, os.Remove(tree.at(UdevFile)))
	var held []Undone
	unchanged(t, tree, k, func() { held = must.Have(tree.Status())(t) })
	want := strings.ReplaceAll(stateList("tmpfiles.d/zz-kt.conf drifted", "rules.d/99-zz-kt.rules already", "vm.swappiness drifted", "thp.enabled already"), "restored", "held")
	sameStates(t, "Status", want, undoneStates(held))
	u := held[4]
	must.True(t, u.Old == "60" && u.Now == "7" && u.Err != nil && u.Err.Error() == `set to "7" since`, "Status of vm.swappiness = %+v", u)
	text := must.Have(json.Marshal(held[4]))(t)
	want = `{"setting":"vm.swappiness","kind":"write","path":"/proc/sys/vm/swappiness","old":"60","now":"7","state":"drifted","why":"set to \"7\" since"}`
	must.True(t, string(text) == want, "Status of vm.swappiness as JSON is\n%s\nwant\n%s", text, want)
}
