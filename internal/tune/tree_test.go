package tune

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
)

// folderKernel is a kernel whose values are in the files of a fixture, and which does with
// them what Linux does.
type folderKernel struct {
	root    string
	refuses map[string]error  // by path: what it does not take
	rounds  map[string]string // by "path = value": what it makes of it
	writes  []string          // all that it took
}

func (k *folderKernel) Write(f *os.File, value string) error { return k.write(f.Name(), value) }

func (k *folderKernel) write(file, value string) error {
	p := "/" + filepath.ToSlash(strings.TrimPrefix(strings.TrimPrefix(file, k.root), "/"))
	if err := k.refuses[p]; err != nil {
		return err
	}
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	k.writes = append(k.writes, p+" = "+value)
	if made, ok := k.rounds[p+" = "+value]; ok {
		value = made
	}
	if other := pairOfFile(p); other != "" && value != "0" {
		if err := rewriteText(filepath.Join(k.root, other), "0\n"); err != nil {
			return err
		}
	}
	if p == schedulerFile {
		if err := rewriteText(filepath.Join(k.root, requestsFile), "256\n"); err != nil {
			return err
		}
	}
	return rewriteText(file, moveBrackets(string(old), value))
}

// moveBrackets moves the brackets of a list to another word, as sysfs does.
func moveBrackets(old, value string) string {
	words := strings.Fields(strings.NewReplacer("[", "", "]", "").Replace(old))
	if !strings.Contains(old, "[") || !slices.Contains(words, value) {
		return value + "\n"
	}
	words[slices.Index(words, value)] = "[" + value + "]"
	return strings.Join(words, " ") + "\n"
}

func pairOfFile(p string) string {
	if name, ok := strings.CutSuffix(p, "_ratio"); ok {
		return name + "_bytes"
	}
	if name, ok := strings.CutSuffix(p, "_bytes"); ok {
		return name + "_ratio"
	}
	return ""
}

func (k *folderKernel) SetOpenFiles(pid int, start, soft, hard int64) error {
	k.writes = append(k.writes, fmt.Sprintf("limit of %d started at %d = %d %d", pid, start, soft, hard))
	return rewriteText(filepath.Join(k.root, "proc", fmt.Sprint(pid), "limits"), limitsText(limitText(soft), limitText(hard)))
}

func (k *folderKernel) Remount(_ *os.File, atime string) error {
	k.writes = append(k.writes, "mount "+atime)
	return rewriteText(filepath.Join(k.root, "proc/self/mountinfo"), mountsText(atime))
}

// rewriteText gives a file its content and leaves its mode.
func rewriteText(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

func limitsText(soft, hard string) string {
	return "Limit                     Soft Limit           Hard Limit           Units     \n" +
		fmt.Sprintf("%-25s %-20s %-20s %-10s\n", "Max open files", soft, hard, "files")
}

func mountsText(atime string) string {
	return "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n" +
		"36 22 8:17 / /data/kafka1 rw,nosuid," + atime + " shared:2 - xfs /dev/sdb1 rw,attr2\n"
}

const (
	swappinessFile = "/proc/sys/vm/swappiness"
	tcpRmemFile    = "/proc/sys/net/ipv4/tcp_rmem"
	dirtyRatioFile = "/proc/sys/vm/dirty_ratio"
	dirtyBytesFile = "/proc/sys/vm/dirty_bytes"
	hugePagesFile  = "/sys/kernel/mm/transparent_hugepage/enabled"
	schedulerFile  = "/sys/block/sdb/queue/scheduler"
	bootIDFile     = "/proc/sys/kernel/random/boot_id"
	requestsFile   = "/sys/block/sdb/queue/nr_requests"
	diskIDFile     = "/sys/block/sdb/device/wwid"
)

// machineFiles are a machine with a broker that runs as process 4711.
func machineFiles() map[string]string {
	return map[string]string{
		swappinessFile: "60\n", tcpRmemFile: "4096 131072 6291456\n",
		dirtyRatioFile: "20\n", dirtyBytesFile: "0\n",
		hugePagesFile: "[always] madvise never\n",
		schedulerFile: "none [mq-deadline] bfq\n", diskIDFile: "naa.5000c500a1b2c3d4\n", requestsFile: "64\n",
		bootIDFile:                    "7b1f8a0e-8d0c-4f5e-9a77-000000000001\n",
		"/proc/4711/cmdline":          "java\x00kafka.Kafka\x00",
		"/proc/4711/stat":             "4711 (java) S 1 4711 4711 0 -1 4194560 1 0 0 0 1 1 0 0 20 0 60 0 123456 1 1\n",
		"/proc/4711/status":           "Name:\tjava\nUid:\t1001\t1001\t1001\t1001\n",
		"/proc/4711/limits":           limitsText("1024", "524288"),
		"/proc/self/mountinfo":        mountsText("relatime"),
		"/etc/sysctl.d/99-local.conf": "vm.swappiness = 30\n",
		"/etc/systemd/system/x.conf":  "",
		"/var/lib/dpkg/status":        "",
		"/data/kafka1/meta":           "",
	}
}

// machineTree is a machine in a folder.
func machineTree(t *testing.T) (*Tree, *folderKernel) {
	t.Helper()
	root := t.TempDir()
	// Where every sync is for nothing: the tests make thousands.
	if dir, err := os.MkdirTemp("/dev/shm", "kt-tune-"); err == nil {
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		root = dir
	}
	for p, text := range machineFiles() {
		putText(t, root, p, text)
	}
	must.Do(t, os.Chmod(root, 0o755))
	must.Do(t, os.Chmod(filepath.Join(root, schedulerFile), 0o640))
	return treeOf(root)
}

func treeOf(root string) (*Tree, *folderKernel) {
	k := &folderKernel{root: root}
	tree := NewTree(root, "v1.2.3")
	tree.kernel = k
	return tree, k
}

func putText(t *testing.T, root, p, text string) {
	t.Helper()
	file := filepath.Join(root, p)
	must.Do(t, os.MkdirAll(filepath.Dir(file), 0o755))
	must.Do(t, os.WriteFile(file, []byte(text), 0o644))
}

func readText(t *testing.T, root, p string) string {
	t.Helper()
	b := must.Have(os.ReadFile(filepath.Join(root, p)))(t)
	return string(b)
}

// snapshotOf is a whole tree: the mode of every file and folder, and what is in it.
func snapshotOf(t *testing.T, root string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	must.Do(t, filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := ""
		if d.Type().IsRegular() {
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			text = string(b)
		}
		all[strings.TrimPrefix(p, root)] = info.Mode().String() + " " + text
		return nil
	}))
	return all
}

func sameTree(t *testing.T, what string, want, got map[string]string) {
	t.Helper()
	must.Match(t, want, got, "%s", what)
}

// unchanged fails the test if something on a machine, or in its kernel, is another after do.
func unchanged(t *testing.T, tree *Tree, k *folderKernel, do func()) {
	t.Helper()
	before := snapshotOf(t, tree.root)
	k.writes = nil
	do()
	must.True(t, len(k.writes) == 0, "kt wrote %q", k.writes)
	sameTree(t, "the tree", before, snapshotOf(t, tree.root))
}

// failsWith fails the test if an error does not begin with some words.
func failsWith(t *testing.T, what string, err error, want string) {
	t.Helper()
	must.True(t, err != nil && strings.HasPrefix(err.Error(), want), "%s = %v, want the error %q", what, err, want)
}

// planOfAll is one change of every kind, and two of a pair.
func planOfAll() []Change {
	return []Change{
		Sysctl("vm.swappiness", "vm.swappiness", "60", "1"),
		Sysctl("net.tcp_rmem", "net.ipv4.tcp_rmem", "4096\t131072\t6291456", "4096 131072 16777216"),
		{
			Setting: "vm.dirty_limit", Kind: WriteFile, Path: dirtyBytesFile, Old: "0", New: "8589934592",
			Pair: dirtyRatioFile, PairOld: "20", Keep: []Line{{File: SysctlFile, Text: "vm.dirty_bytes = 8589934592"}},
		},
		{
			Setting: "thp.enabled", Kind: WriteFile, Path: hugePagesFile, Old: "always", New: "madvise",
			Keep: []Line{{File: TmpfilesFile, Text: "w " + hugePagesFile + " - - - - madvise"}},
		},
		{
			Setting: "disk.scheduler", Kind: WriteFile, Path: schedulerFile, Old: "mq-deadline", New: "none",
			Keep: []Line{{File: UdevFile, Text: `ACTION=="add|change", SUBSYSTEM=="block", ENV{DEVTYPE}=="disk", ATTRS{wwid}=="naa.5000c500a1b2c3d4", ATTR{queue/scheduler}="none"`}},
		},
		{
			Setting: "limits.nofile", Kind: Prlimit, Path: "/proc/4711/limits", Old: "1024 524288", New: "500000 524288",
			PID: 4711, Start: 123456, Keep: []Line{{File: DropIn("kafka.service"), Text: "LimitNOFILE=500000", Head: "[Service]"}},
		},
		{Setting: "fs.noatime", Kind: Remount, Path: "/data/kafka1", Old: "relatime", New: "noatime", Advice: "fstab"},
		{
			Setting: "limits.unit", Kind: KeepOnly, New: "500000",
			Keep: []Line{{File: DropIn("kafka.service"), Text: "LimitNOFILE=500000", Head: "[Service]"}},
		},
	}
}

// otherPlan is another profile's: it writes the other one of the pair.
func otherPlan() []Change {
	return []Change{
		Sysctl("vm.swappiness", "vm.swappiness", "1", "10"),
		{
			Setting: "vm.dirty_limit", Kind: WriteFile, Path: dirtyRatioFile, Old: "0", New: "60",
			Pair: dirtyBytesFile, PairOld: "8589934592", Keep: []Line{{File: SysctlFile, Text: "vm.dirty_ratio = 60"}},
		},
	}
}

func mustApply(t *testing.T, tree *Tree, changes []Change, o ApplyOptions) []Outcome {
	t.Helper()
	outcomes, err := tree.Apply(changes, o)
	must.Hold(t, err == nil, "Apply: %v", err)
	return outcomes
}

func mustRollback(t *testing.T, tree *Tree, force bool) []Undone {
	t.Helper()
	undone, err := tree.Rollback(force)
	must.Hold(t, err == nil, "Rollback: %v", err)
	return undone
}

// statesOf are what became of changes: "vm.swappiness applied".
func statesOf(outcomes []Outcome) []string {
	var s []string
	for _, o := range outcomes {
		s = append(s, o.Change.Setting+" "+string(o.State))
	}
	return s
}

// undoneStates are what became of undoing: "vm.swappiness restored".
func undoneStates(undone []Undone) []string {
	var s []string
	for _, u := range undone {
		name := u.Setting
		if u.Kind == OwnFile {
			name = path.Base(path.Dir(u.Path)) + "/" + path.Base(u.Path)
		}
		s = append(s, name+" "+string(u.State))
	}
	return s
}

func sameStates(t *testing.T, call string, want string, got []string) {
	t.Helper()
	must.Match(t, strings.Split(want, ", "), got, "%s", call)
}

func TestOpenFilesOfARunningProcess(t *testing.T) {
	cmd := exec.Command("cat")
	in := must.Have(cmd.StdinPipe())(t)
	must.Do(t, cmd.Start())
	pid := cmd.Process.Pid
	p := must.Have(host.System().Process(pid))(t)
	limit := func() string {
		t.Helper()
		return must.Have(NewTree("/", "").value(subject{Kind: Prlimit, PID: pid, Start: p.Start}))(t)
	}
	before := limit()
	err := (systemKernel{}).SetOpenFiles(pid, p.Start+1, 64, 128)
	must.True(t, errors.Is(err, errEnded), "SetOpenFiles of a process with another start = %v, want %v", err, errEnded)
	must.Match(t, before, limit(), "the limit of the wrong process")
	must.Do(t, (systemKernel{}).SetOpenFiles(pid, p.Start, 64, 128))
	must.Match(t, "64 128", limit(), "the limit after SetOpenFiles(64, 128)")
	must.Do(t, errors.Join(in.Close(), cmd.Wait()))
	err = (systemKernel{}).SetOpenFiles(pid, p.Start, 32, 128)
	must.True(t, errors.Is(err, errEnded), "SetOpenFiles of a process that has ended = %v, want %v", err, errEnded)
}

func TestRemountChangesNothingElse(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to mount something")
	}
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=64k,nosuid,noexec,nodiratime,relatime", "none", dir).CombinedOutput(); err != nil {
		t.Skipf("needs a mount, and mount makes none here: %v: %s", err, out)
	}
	t.Cleanup(func() {
		out, err := exec.Command("umount", dir).CombinedOutput()
		must.True(t, err == nil, "umount: %v: %s", err, out)
	})
	look := func() host.Mount {
		t.Helper()
		mounts := must.Have(host.System().Mounts())(t)
		m, ok := mountAt(mounts, dir)
		must.Hold(t, ok, "%s is no mount", dir)
		return m
	}
	before := look()
	tree := NewTree("/", "")
	s := subject{Kind: Remount, Path: dir}
	for _, atime := range []string{"noatime", "strictatime", "relatime"} {
		err := tree.set(s, atime)
		must.Hold(t, err == nil, "set(%s) = %v", atime, err)
		want := before
		want.Options = slices.DeleteFunc(slices.Clone(before.Options), func(o string) bool { return slices.Contains(atimes, o) })
		got := look()
		got.Options = slices.DeleteFunc(got.Options, func(o string) bool { return slices.Contains(atimes, o) })
		must.Match(t, want, got, "set(%s) changed something else", atime)
	}
	must.Match(t, before, look(), "the mount after all")
}

func TestWriteGivesAFileItsValue(t *testing.T) {
	for _, row := range []struct{ name, old, value, want string }{
		{"a longer value", "60\n", "100\n100", "100\n100\n"},
		{"a shorter value leaves nothing of the old one", "500000\n", "1", "1\n"},
		{"a value for an empty file", "", "1", "1\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "value")
			must.Do(t, os.WriteFile(file, []byte(row.old), 0o640))
			f := must.Have(os.OpenFile(file, os.O_RDWR, 0))(t)
			must.Do(t, errors.Join((systemKernel{}).Write(f, row.value), f.Close()))
			got, err := os.ReadFile(file)
			must.True(t, err == nil && string(got) == row.want, "Write(%q) over %q made %q, %v; want %q", row.value, row.old, got, err, row.want)
		})
	}
}

func TestSettingAValueMakesNoFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "value")
	err := NewTree(dir, "").set(subject{Kind: WriteFile, Path: "/value"}, "1")
	must.True(t, errors.Is(err, fs.ErrNotExist), "set of a file that is not there = %v, want %v", err, fs.ErrNotExist)
	_, err = os.Stat(file)
	must.True(t, errors.Is(err, fs.ErrNotExist), "Stat after it = %v: set made the file", err)
}

func TestNormalIsHowValuesAreCompared(t *testing.T) {
	for _, row := range []struct{ name, value, want string }{
		{"a number with a line's end", "60\n", "60"},
		{"numbers with tabs", "4096\t131072\t6291456\n", "4096 131072 6291456"},
		{"the chosen one of a list", "always [madvise] never\n", "madvise"},
		{"a single choice", "[none]\n", "none"},
		{"a bracket that does not close", "a [b", "a [b"},
		{"nothing", "\n", ""},
	} {
		must.Match(t, row.want, normal(row.value), "%s: normal(%q)", row.name, row.value)
	}
}

func TestLimitsAreReadAsTheyAreShown(t *testing.T) {
	for _, row := range []struct {
		value      string
		soft, hard int64
		bad        bool
	}{
		{"1024 524288", 1024, 524288, false},
		{"100000\tunlimited", 100000, -1, false},
		{"unlimited unlimited", -1, -1, false},
		{"1024", 0, 0, true},
		{"-1 -1", 0, 0, true},
		{"9223372036854775808 9223372036854775808", 0, 0, true},
		{"18446744073709551615 unlimited", 0, 0, true},
		{"1k 2k", 0, 0, true},
	} {
		soft, hard, err := parseLimits(row.value)
		must.True(t, soft == row.soft && hard == row.hard && (err != nil) == row.bad,
			"parseLimits(%q) = %d, %d, %v; want %d, %d and an error: %t", row.value, soft, hard, err, row.soft, row.hard, row.bad)
	}
}
