package tune

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

// agentUser is the user to whom systemd gives /var/lib/kt.
const agentUser = 1001

// evilJournal would have the kernel run a program, and unlink a file.
const evilJournal = `{"schema": 1, "kt": "v1.2.3", "folders": ["/etc/shadow"], "values": [
	{"setting": "vm.swappiness", "kind": "write", "path": "/proc/sys/kernel/core_pattern", "old": "|/tmp/program", "ours": ["core"]}]}`

const corePattern = "/proc/sys/kernel/core_pattern"

func asRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root, to give files to another user")
	}
}

// giveAway gives a folder, and all that is in it, to the agent's user, as systemd does with
// the StateDirectory of a unit.
func giveAway(t *testing.T, dir string) {
	t.Helper()
	must.Do(t, filepath.WalkDir(dir, func(p string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(p, agentUser, agentUser))
	}))
}

// attacked is a machine with what the attacks are after.
func attacked(t *testing.T) (*Tree, *folderKernel) {
	t.Helper()
	tree, k := machineTree(t)
	putText(t, tree.root, corePattern, "core\n")
	putText(t, tree.root, "/etc/shadow", "root:*:\n")
	return tree, k
}

// TestTheJournalsFolderIsReachedByNoLink is of a machine on which others may write one of the folders
// that the journal's is in.
func TestTheJournalsFolderIsReachedByNoLink(t *testing.T) {
	asRoot(t)
	for _, row := range []struct {
		name   string
		attack func(t *testing.T, tree *Tree)
		want   string
	}{
		{"the folder is a link", func(t *testing.T, tree *Tree) {
			putText(t, tree.root, "/tmp/mine/journal.json", evilJournal)
			must.Do(t, os.Symlink("/tmp/mine", tree.at(JournalFolder)))
		}, JournalFolder + " is a link, or no folder"},
		{"a folder before it is a link", func(t *testing.T, tree *Tree) {
			must.Do(t, os.Rename(tree.at("/var"), tree.at("/other")))
			must.Do(t, os.Symlink("other", tree.at("/var")))
		}, "/var is a link, or no folder"},
		{"the folder is another user's", func(t *testing.T, tree *Tree) {
			putText(t, tree.root, journalFile, evilJournal)
			giveAway(t, tree.at(JournalFolder))
		}, JournalFolder + " may be written by others than root"},
		{"a folder before it is another user's", func(t *testing.T, tree *Tree) {
			must.Do(t, os.Chown(tree.at("/var/lib"), agentUser, agentUser))
		}, "/var/lib may be written by others than root"},
		{"a group may write a folder before it", func(t *testing.T, tree *Tree) {
			must.Do(t, os.Chmod(tree.at("/var/lib"), 0o775))
		}, "/var/lib may be written by others than root"},
		{"everybody may write a folder before it, with the sticky bit", func(t *testing.T, tree *Tree) {
			must.Do(t, os.Chmod(tree.at("/var/lib"), 0o777|os.ModeSticky))
		}, "/var/lib may be written by others than root"},
		{"the root is another user's", func(t *testing.T, tree *Tree) {
			must.Do(t, os.Chown(tree.root, agentUser, agentUser))
		}, "/ may be written by others than root"},
		{"the journal is another user's", func(t *testing.T, tree *Tree) {
			putText(t, tree.root, journalFile, evilJournal)
			must.Do(t, os.Chown(tree.at(journalFile), agentUser, agentUser))
		}, journalFile + " may be written by others than root"},
		{"the journal is a pipe", func(t *testing.T, tree *Tree) {
			putText(t, tree.root, JournalFolder+"/x", "")
			must.Do(t, syscall.Mkfifo(tree.at(journalFile), 0o644))
		}, journalFile + " is no regular file"},
		{"the journal is a link", func(t *testing.T, tree *Tree) {
			putText(t, tree.root, JournalFolder+"/x", evilJournal)
			must.Do(t, os.Symlink("x", tree.at(journalFile)))
		}, journalFile + " is no regular file"},
	} {
		t.Run(row.name, func(t *testing.T) {
			tree, k := attacked(t)
			row.attack(t, tree)
			unchanged(t, tree, k, func() {
				failsWith(t, "Apply", onlyError(tree.Apply(planOfAll(), ApplyOptions{})), "journal: "+row.want)
				undone, err := tree.Rollback(false)
				must.True(t, err != nil || len(undone) == 0, "Rollback = %+v", undone)
			})
		})
	}
}

// TestAJournalOfRootsNamesOnlyWhatKtSets is of a journal that is root's by every sign.
func TestAJournalOfRootsNamesOnlyWhatKtSets(t *testing.T) {
	value := func(fields string) string {
		return `{"schema": 1, "values": [{"setting": "vm.swappiness", "kind": "write", ` + fields + `}]}`
	}
	file := func(p, line string) string {
		return `{"schema": 1, "files": [{"path": "` + p + `", "lines": [{"text": "` + line + `"}], "sums": []}]}`
	}
	for name, text := range map[string]string{
		"a program for cores":            value(`"path": "/proc/sys/kernel/core_pattern", "old": "|/tmp/program"`),
		"a program as a module's loader": value(`"path": "/proc/sys/kernel/modprobe", "old": "/tmp/program"`),
		"a value of another form":        value(`"path": "/proc/sys/vm/swappiness", "old": "|/tmp/program"`),
		"a value that is too large":      value(`"path": "/proc/sys/vm/swappiness", "old": "201"`),
		"another one of a pair":          value(`"path": "/proc/sys/vm/dirty_ratio", "old": "0", "pair_old": "|/tmp/program"`),
		"no other one of a pair":         value(`"path": "/proc/sys/vm/dirty_ratio", "old": "0"`),
		"a value beside":                 value(`"path": "/proc/sys/vm/swappiness", "old": "1", "beside": [{"path": "/proc/sys/kernel/core_pattern", "old": "|/tmp/program"}]`),
		"a path out of its folder":       value(`"path": "/sys/block/../../etc/shadow/queue/scheduler", "old": "none"`),
		"a line for udev":                value(`"path": "/proc/sys/vm/swappiness", "old": "1", "lines": [{"file": "` + UdevFile + `", "text": "RUN+=x"}]`),
		"a line for a unit":              value(`"path": "/proc/sys/vm/swappiness", "old": "1", "lines": [{"file": "` + DropIn("kafka.service") + `", "text": "ExecStartPre=/tmp/program", "head": "[Service]"}]`),
		"another unit's section":         value(`"path": "/proc/sys/vm/swappiness", "old": "1", "lines": [{"file": "` + DropIn("kafka.service") + `", "text": "LimitNOFILE=1", "head": "[Service]\nExecStartPre=/tmp/program"}]`),
		"an escape in a name":            `{"schema": 1, "values": [{"setting": "\u001b[2J", "kind": "write", "path": "/proc/sys/vm/swappiness", "old": "1"}]}`,
		"a line in a file of kt's":       file(SysctlFile, "kernel.core_pattern = |/tmp/program"),
		"a program in a rule":            file(UdevFile, `ACTION==\"add|change\", SUBSYSTEM==\"block\", ENV{DEVTYPE}==\"disk\", PROGRAM==\"/tmp/program\", ATTR{queue/scheduler}=\"none\"`),
		"a file for tmpfiles":            file(TmpfilesFile, "w /proc/sys/kernel/core_pattern - - - - |/tmp/program"),
		"a file of another's":            file("/etc/cron.d/zz-kt", ""),
		"a unit that is none":            file("/etc/systemd/system/../../cron.d/zz-kt.conf", ""),
		"a folder of another's":          `{"schema": 1, "folders": ["/home/somebody"]}`,
		"a file as a folder":             `{"schema": 1, "folders": ["/etc/shadow"]}`,
	} {
		j, err := parseJournal([]byte(text))
		must.True(t, err != nil, "%s: parseJournal took %+v", name, j)
	}
	tree, k := attacked(t)
	putText(t, tree.root, journalFile, evilJournal)
	unchanged(t, tree, k, func() {
		if _, err := tree.Rollback(true); err == nil || !strings.Contains(err.Error(), "is not among the files that kt sets") {
			t.Errorf("Rollback = %v, want that the file is none that kt sets", err)
		}
	})
}

// TestFoldersAreRemovedAsFoldersOnly is of a file, and of a folder of another user's, in the place of
// a folder that kt made.
func TestFoldersAreRemovedAsFoldersOnly(t *testing.T) {
	tree, _ := machineTree(t)
	putText(t, tree.root, "/etc/tmpfiles.d", "a file\n")
	want := []string{"/etc/tmpfiles.d"}
	if os.Getuid() == 0 {
		must.Do(t, os.Mkdir(tree.at("/etc/udev"), 0o755))
		must.Do(t, os.Chown(tree.at("/etc/udev"), agentUser, agentUser))
		want = append(want, "/etc/udev")
	}
	tree.dropFolders(want)
	for _, p := range want {
		_, err := os.Lstat(tree.at(p))
		must.True(t, err == nil, "Lstat(%s) = %v, want that it is left", p, err)
	}
}

// TestNothingOutsideTheRootIsChanged is of folders in the root that are links out of it.
func TestNothingOutsideTheRootIsChanged(t *testing.T) {
	outside := t.TempDir()
	for _, dir := range []string{"sysctl.d", "tmpfiles.d", "vm"} {
		must.Do(t, os.Mkdir(filepath.Join(outside, dir), 0o755))
	}
	tree, k := machineTree(t)
	k.refuses = nil
	tree.kernel = systemKernel{}
	putText(t, outside, "vm/swappiness", "60\n")
	must.Do(t, os.RemoveAll(tree.at("/etc/sysctl.d")))
	must.Do(t, os.Symlink(filepath.Join(outside, "sysctl.d"), tree.at("/etc/sysctl.d")))
	must.Do(t, os.Symlink("../../../../../../../.."+filepath.Join(outside, "tmpfiles.d"), tree.at("/etc/tmpfiles.d")))
	must.Do(t, os.RemoveAll(tree.at("/proc/sys/vm")))
	must.Do(t, os.Symlink(filepath.Join(outside, "vm"), tree.at("/proc/sys/vm")))
	before := snapshotOf(t, outside)
	outcomes, _ := tree.Apply([]Change{planOfAll()[0], planOfAll()[3]}, ApplyOptions{}) // that it fails is as good
	for _, o := range outcomes {
		must.True(t, o.Change.Path != swappinessFile || o.State == Failed, "Apply: %s is %s, want %s", o.Change.Setting, o.State, Failed)
	}
	sameTree(t, "what is outside the root", before, snapshotOf(t, outside))
}

// TestAWrittenFileIsANewOne is of a file that somebody left, and holds open, where kt makes its own.
func TestAWrittenFileIsANewOne(t *testing.T) {
	tree, _ := machineTree(t)
	putText(t, tree.root, beside(SysctlFile), "")
	theirs, err := os.OpenFile(tree.at(beside(SysctlFile)), os.O_RDWR, 0)
	must.Do(t, err)
	mustApply(t, tree, planOfAll()[:1], ApplyOptions{})
	_, err = theirs.WriteString("kernel.core_pattern = |/tmp/program\n")
	must.Do(t, errors.Join(err, theirs.Close()))
	got := readText(t, tree.root, SysctlFile)
	must.True(t, strings.HasPrefix(got, ownHeader), "%s holds what somebody wrote after kt: %q", SysctlFile, got)
}

// TestEveryChangeOfTheCatalogueIsAmongTheTargets is of the fixtures' hosts: what a check proposes
// may be applied, and read back from the journal.
func TestEveryChangeOfTheCatalogueIsAmongTheTargets(t *testing.T) {
	ids := IDs()
	for _, target := range targets() {
		must.True(t, slices.Contains(ids, target.setting), "%s is for %s, which is not in the catalogue", target.Path, target.setting)
	}
	for _, s := range Catalogue() {
		inTable := slices.ContainsFunc(targets(), func(t target) bool { return t.setting == s.ID })
		must.True(t, !s.Applies || inTable || s.ID == "fs.noatime", "kt can change %s, and no target is for it", s.ID) // whose words are in atimes
	}
	seen := 0
	for _, name := range fixtureHosts {
		for _, profile := range []string{"throughput", "latency"} {
			tree, calls := fixture(t, name)
			for _, c := range Check(look(t, tree, calls, shipped(t, profile)), Catalogue()).Changes() {
				seen++
				must.Err(t, "", c.checkNew(), "%s, %s: %s", name, profile, c.Setting)
			}
		}
	}
	must.True(t, seen != 0, "the fixtures' hosts want no change at all")
}

// stubborn is a kernel that says no to some writes.
type stubborn struct {
	*folderKernel
	to   string // "path = value"
	does bool   // and makes the change all the same
}

func (k stubborn) Write(f *os.File, value string) error {
	p := f.Name()[len(k.root):]
	if p+" = "+value != k.to {
		return k.folderKernel.Write(f, value)
	}
	if k.does {
		if err := k.folderKernel.Write(f, value); err != nil {
			return err
		}
	}
	return errors.New("no")
}

// What the kernel made in spite of its no, or would not take back, is what Rollback finds.
func TestAWriteThatFailsHalfwayIsPutBackLater(t *testing.T) {
	for name, kernel := range map[string]func(*folderKernel) kernel{
		"it makes 2 of 1, and does not take 60 back": func(k *folderKernel) kernel {
			k.rounds = map[string]string{swappinessFile + " = 1": "2"}
			return stubborn{k, swappinessFile + " = 60", false}
		},
		"it makes the change, and says no": func(k *folderKernel) kernel { return stubborn{k, swappinessFile + " = 1", true} },
	} {
		tree, k := machineTree(t)
		before := snapshotOf(t, tree.root)
		tree.kernel = kernel(k)
		sameStates(t, name, "vm.swappiness failed", statesOf(mustApply(t, tree, planOfAll()[:1], ApplyOptions{})))
		tree.kernel = k
		sameStates(t, name, "vm.swappiness restored", undoneStates(mustRollback(t, tree, false)))
		sameTree(t, name+": the tree after Rollback", before, snapshotOf(t, tree.root))
	}
}

// What is noted as not kept goes by the value that is there, and by the files that are.
func TestWhatIsNotKeptIsTold(t *testing.T) {
	tree, _ := machineTree(t)
	one := []Change{Sysctl("vm.swappiness", "vm.swappiness", "60", "1")}
	mustApply(t, tree, one, ApplyOptions{Runtime: true})
	unkept := func() []Change {
		t.Helper()
		return must.Have(tree.unkept())(t)
	}
	all := unkept()
	must.Hold(t, len(all) == 1 && all[0].New == "1" && all[0].Keep[0].Text == "vm.swappiness = 1", "unkept = %+v, want swappiness of 1", all)
	mustApply(t, tree, []Change{Sysctl("vm.swappiness", "vm.swappiness", "1", "10")}, ApplyOptions{Persist: true})
	mustApply(t, tree, one[:1], ApplyOptions{Runtime: true}) // as it is, for now
	if all = unkept(); len(all) != 1 || all[0].Keep[0].Text != "vm.swappiness = 1" {
		t.Errorf("with another value in the file unkept = %+v, want swappiness of 1", all)
	}
	mustApply(t, tree, all, ApplyOptions{})
	all = unkept()
	must.True(t, len(all) == 0, "when it is kept unkept = %+v", all)
}
