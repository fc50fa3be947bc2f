package tune

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
)

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
	if err := (systemKernel{}).SetOpenFiles(pid, p.Start+1, 64, 128); !errors.Is(err, errEnded) {
		t.Errorf("SetOpenFiles of a process with another start = %v, want %v", err, errEnded)
	}
	must.Match(t, before, limit(), "the limit of the wrong process")
	must.Do(t, (systemKernel{}).SetOpenFiles(pid, p.Start, 64, 128))
	must.Match(t, "64 128", limit(), "the limit after SetOpenFiles(64, 128)")
	must.Do(t, errors.Join(in.Close(), cmd.Wait()))
	if err := (systemKernel{}).SetOpenFiles(pid, p.Start, 32, 128); !errors.Is(err, errEnded) {
		t.Errorf("SetOpenFiles of a process that has ended = %v, want %v", err, errEnded)
	}
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
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	look := func() host.Mount {
		t.Helper()
		mounts := must.Have(host.System().Mounts())(t)
		m, ok := mountAt(mounts, dir)
		if !ok {
			t.Fatalf("%s is no mount", dir)
		}
		return m
	}
	before := look()
	tree := NewTree("/", "")
	s := subject{Kind: Remount, Path: dir}
	for _, atime := range []string{"noatime", "strictatime", "relatime"} {
		if err := tree.set(s, atime); err != nil {
			t.Fatalf("set(%s) = %v", atime, err)
		}
		want := before
		want.Options = slices.DeleteFunc(slices.Clone(before.Options), func(o string) bool { return slices.Contains(atimes, o) })
		got := look()
		got.Options = slices.DeleteFunc(got.Options, func(o string) bool { return slices.Contains(atimes, o) })
		must.Match(t, want, got, "set(%s) changed something else", atime)
	}
	must.Match(t, before, look(), "the mount after all")
}
