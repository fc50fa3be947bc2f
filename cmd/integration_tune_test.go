//go:build integration

package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/tune"
)

// alone makes a command that sees no other process, such as the brokers of whoever runs these tests.
func alone(name string, args ...string) *exec.Cmd {
	return exec.Command("unshare", append([]string{"--pid", "--fork", "--kill-child", "--mount-proc", name}, args...)...)
}

// tuneRun runs kt tune to its end; with the command alone it has no broker to look at.
func tuneRun(t *testing.T, command func(string, ...string) *exec.Cmd, args ...string) (stdout []byte, stderr string, code int) {
	t.Helper()
	return ran(t, command(must.Have(binary())(t), append([]string{"tune"}, args...)...))
}

func tuneDocument(t *testing.T, command func(string, ...string) *exec.Cmd, args ...string) tune.Document {
	t.Helper()
	stdout, stderr, _ := tuneRun(t, command, append(args, "--output", "json")...)
	return decoded[tune.Document](t, stdout, stderr)
}

// check is one check of a document.
func check(t *testing.T, d tune.Document, id string) tune.CheckDocument {
	t.Helper()
	i := slices.IndexFunc(d.Checks, func(c tune.CheckDocument) bool { return c.ID == id })
	must.Hold(t, i >= 0, "there is no check %s", id)
	return d.Checks[i]
}

// traces is everything that kt tune may touch on this machine: the values of the
// kernel, and the folders that have or could have files of kt's.
func traces(t *testing.T, kernel []string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for _, name := range kernel {
		b := must.Have(os.ReadFile(name))(t)
		all[name] = string(b)
	}
	for _, dir := range []string{"/etc/sysctl.d", "/etc/tmpfiles.d", "/etc/udev", "/etc/security", "/etc/systemd", "/var/lib/kt", "/var/lib/kt-tune"} {
		err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := e.Info()
			if err != nil {
				return err
			}
			all[p] = info.Mode().String()
			if info.Mode().IsRegular() {
				b, err := os.ReadFile(p)
				if err != nil {
					return err
				}
				all[p] += " " + string(b)
			}
			return nil
		})
		must.Hold(t, err == nil || errors.Is(err, fs.ErrNotExist), "%v", err)
	}
	return all
}

// changeable skips the test where this machine cannot be changed, and returns the
// changes that kt would make here.
func changeable(t *testing.T, args ...string) []tune.Change {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can change the machine")
	}
	old, err := os.ReadFile("/proc/sys/vm/swappiness")
	if err != nil {
		t.Skip("there is no vm.swappiness here: ", err)
	}
	if err := os.WriteFile("/proc/sys/vm/swappiness", old, 0); err != nil {
		t.Skip("the kernel's settings cannot be written here: ", err)
	}
	var changes []tune.Change
	for _, c := range tuneDocument(t, alone, args...).Checks {
		changes = append(changes, c.Changes...)
	}
	if len(changes) == 0 {
		t.Skip("this machine is as wanted already")
	}
	return changes
}

// kernelFiles are the files that changes write.
func kernelFiles(changes []tune.Change) []string {
	files := make(map[string]bool)
	for _, c := range changes {
		if c.Kind == tune.WriteFile {
			files[c.Path] = true
			if c.Pair != "" {
				files[c.Pair] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(files))
}

func TestApplyRebootAndRollbackOnThisMachine(t *testing.T) {
	args := []string{"--role", "broker", "--dirs", t.TempDir(), "--interval", "0", "--skip", "context,limits.nofile"}
	changes := changeable(t, args...)
	kernel := kernelFiles(changes)
	before := traces(t, kernel)
	t.Cleanup(func() { tuneRun(t, alone, "--rollback", "--force") })

	stdout, stderr, code := tuneRun(t, alone, append(args, "--apply", "--yes")...)
	must.Hold(t, code == exitOK, "apply: exit code %d, want 0\n%s%s", code, stdout, stderr)
	for _, c := range changes {
		if key, ok := strings.CutPrefix(c.Path, "/proc/sys/"); ok {
			sysctlIs(t, strings.ReplaceAll(key, "/", "."), c.New)
		}
	}
	d := tuneDocument(t, alone, args...)
	if slices.ContainsFunc(d.Checks, func(c tune.CheckDocument) bool { return len(c.Changes) > 0 }) {
		t.Error("after an apply there is still something to change")
	}

	// A reboot: the defaults are back, and then the files are read. A container has no such files.
	if d.Host.Container == "" {
		for _, name := range kernel {
			restore(t, name, before)
		}
		out, err := exec.Command("sysctl", "-p", tune.SysctlFile).CombinedOutput()
		must.Hold(t, err == nil, "sysctl -p %s: %v\n%s", tune.SysctlFile, err, out)
	}
	for _, c := range changes {
		if key, ok := strings.CutPrefix(c.Path, "/proc/sys/"); ok {
			sysctlIs(t, strings.ReplaceAll(key, "/", "."), c.New)
		}
	}

	stdout, stderr, code = tuneRun(t, alone, "--rollback")
	must.Hold(t, code == exitOK, "rollback: exit code %d, want 0\n%s%s", code, stdout, stderr)
	must.Match(t, before, traces(t, kernel), "the machine is not as it was before")
	stdout, _, code = tuneRun(t, alone, "--rollback")
	must.True(t, code == exitOK && bytes.Contains(stdout, []byte("kt has changed nothing")), "the second rollback: exit code %d, %q", code, stdout)
}

func TestRollbackAfterApplyWasKilledOnThisMachine(t *testing.T) {
	args := []string{"--role", "broker", "--dirs", t.TempDir(), "--interval", "0", "--skip", "context,limits.nofile"}
	kernel := kernelFiles(changeable(t, args...))
	before := traces(t, kernel)
	t.Cleanup(func() { tuneRun(t, alone, "--rollback", "--force") })
	path := must.Have(binary())(t)
	// Wherever the kill falls: the tests of the package tune kill at every single
	// step; this one is about the real kernel.
	for after := 4 * time.Millisecond; after < 200*time.Millisecond; after = after * 5 / 4 {
		c := alone(path, append([]string{"tune", "--apply", "--yes"}, args...)...)
		must.Do(t, c.Start())
		time.AfterFunc(after, func() { _ = c.Process.Kill() })
		_ = c.Wait() // killed, or done before
		stdout, stderr, code := tuneRun(t, alone, "--rollback")
		must.Hold(t, code == exitOK, "killed after %v: rollback: exit code %d\n%s%s", after, code, stdout, stderr)
		diff := cmp.Diff(before, traces(t, kernel))
		must.Hold(t, diff == "", "killed after %v: the machine is not as it was before (-before +after):\n%s", after, diff)
	}
}

func sysctlIs(t *testing.T, key, want string) {
	t.Helper()
	out, err := exec.Command("sysctl", "-n", key).Output()
	got := strings.Join(strings.Fields(string(out)), " ")
	must.True(t, err == nil && got == want, "sysctl -n %s = %q, %v; want %q", key, got, err, want)
}

// restore writes a value back by hand. What the kernel refuses is the idle one of a
// pair: 0 is what it has when the other is in force.
func restore(t *testing.T, name string, before map[string]string) {
	t.Helper()
	value := strings.TrimSpace(before[name])
	if m := regexp.MustCompile(`\[(.*)\]`).FindStringSubmatch(value); m != nil {
		value = m[1]
	}
	if value == "0" && strings.Contains(name, "/vm/dirty_") {
		return
	}
	must.Do(t, os.WriteFile(name, []byte(value), 0))
}

func (k *kafkaCluster) isSeenByTune(t *testing.T) {
	r := k.start("--topic", "load", "--num-records", "2000", "--record-size", "500", "--partitions", "6")
	doc, code := r.wait()
	must.Hold(t, ended(doc, code, exitOK), "the load failed: %s", r.stderr.String())
	pid := k.pid()
	d := tuneDocument(t, exec.Command, "--pid", strconv.Itoa(pid), "--interval", "0")
	must.True(t, d.Role == tune.Broker && d.Host.BrokerPID == pid, "role %s, process %d; want broker, %d", d.Role, d.Host.BrokerPID, pid)
	must.Hold(t, len(d.Host.LogDirs) == 1, "log directories %v, want the one of server.properties", d.Host.LogDirs)
	info, err := os.Stat(filepath.Join(d.Host.LogDirs[0], "load-0"))
	must.True(t, err == nil && info.IsDir(), "the log directory %s does not have the partition load-0: %v", d.Host.LogDirs[0], err)
	flags := printed(t, "jcmd", strconv.Itoa(pid), "VM.flags")
	heap := regexp.MustCompile(`-XX:MaxHeapSize=(\d+)`).FindStringSubmatch(flags)
	must.Hold(t, heap != nil, "jcmd VM.flags has no MaxHeapSize: %s", flags)
	size, _ := strconv.ParseFloat(heap[1], 64)
	got, want := check(t, d, "jvm.heap_set").Current, fmt.Sprintf("%.0f MiB", size/(1<<20))
	must.True(t, strings.Contains(got, want), "jvm.heap_set: %q, and jcmd says %s", got, want)
	limits := printed(t, "cat", fmt.Sprintf("/proc/%d/limits", pid))
	nofile := regexp.MustCompile(`Max open files\s+(\d+)`).FindStringSubmatch(limits)[1]
	if got := check(t, d, "limits.nofile").Current; !strings.Contains(got, nofile) {
		t.Errorf("limits.nofile: %q, and /proc says %s", got, nofile)
	}
	if got := check(t, d, "kafka.io_threads").Current; !strings.HasPrefix(got, "5") {
		t.Errorf("kafka.io_threads: %q, and server.properties says 5", got)
	}
	mapsAgree(t, d, pid)
}

// pid is the process of broker 1.
func (k *kafkaCluster) pid() int {
	k.t.Helper()
	fields := strings.Fields(k.script("status"))
	i := slices.IndexFunc(fields, func(f string) bool { n, err := strconv.Atoi(f); return err == nil && n > 1 })
	must.Hold(k.t, i >= 0, "scripts/kafka status tells no pid: %v", fields)
	pid, _ := strconv.Atoi(fields[i])
	return pid
}

func printed(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).Output()
	must.Hold(t, err == nil, "%s %v: %v", name, args, err)
	return string(out)
}

// mapsAgree holds kt's count of mappings against the kernel's list.
func mapsAgree(t *testing.T, d tune.Document, pid int) {
	t.Helper()
	lines := strings.Count(printed(t, "cat", fmt.Sprintf("/proc/%d/maps", pid)), "\n")
	note := check(t, d, "vm.max_map_count")
	found := regexp.MustCompile(`\d+`).FindAllString(note.Note+" "+note.Current, -1)
	if !slices.ContainsFunc(found, func(s string) bool {
		n, _ := strconv.Atoi(s)
		return math.Abs(float64(n-lines)) <= 50 // a JVM maps and unmaps as it goes
	}) {
		t.Errorf("vm.max_map_count: %q (%s) has no number near %d, the lines of maps", note.Current, note.Note, lines)
	}
}
