//go:build integration

package cmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// The log directory of a broker is a disk of 200 MiB, which a load fills in seconds.
func TestALoadOnASmallDisk(t *testing.T) {
	t.Parallel()
	k := startCluster(t, 1, "--log-dirs", loopFolder(t, 200<<20))
	fill := []string{"--record-size", "10000", "--rate", "20MiB/s", "--acks", "1"}
	t.Run("it ends in good order", func(t *testing.T) {
		r, code := k.in(t).kt("produce", append(fill, "--topic", "small", "--stop-at-disk", "60%", "--duration", "5m")...).wait()
		if !ended(r, code, exitOK) || r.Ended != result.DiskFull || r.Records.Failed+r.Records.Unknown != 0 || !hasEvent(r, stats.LogDirFull) {
			t.Errorf("exit code %d, ended %q, records %+v, events %+v", code, r.Ended, r.Records, r.Events)
		}
	})
	// The topic of the first load stays, so that a slow machine fills the rest in time.
	t.Run("it goes on until the disk is full", func(t *testing.T) {
		r, code := k.in(t).kt("produce", append(fill, "--topic", "full", "--until-full", "--duration", "14s",
			"--command-property", "delivery.timeout.ms=5000", "--command-property", "request.timeout.ms=3000")...).wait()
		full := hasEvent(r, stats.LogDirFull) || hasEvent(r, stats.LogDirFailed)
		if !ended(r, code, exitFailed) || r.Ended != result.Completed || !full || r.Records.Failed == 0 || r.Records.Acknowledged == 0 {
			t.Errorf("exit code %d, ended %q, records %+v, errors %v, events %+v", code, r.Ended, r.Records, r.Errors, r.Events)
		}
		t.Logf("errors %v, brokers %+v, events %+v", r.Errors, r.Brokers, r.Events)
	})
}

// loopFolder returns a folder on an ext4 file system of that many bytes.
func loopFolder(t *testing.T, size int64) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root: mounts a loop device")
	}
	image, err := os.Create(filepath.Join(t.TempDir(), "image"))
	if err == nil {
		err = image.Truncate(size)
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = image.Close() // nothing was written
	dir := t.TempDir()
	for _, command := range []string{"mkfs.ext4 -q -m 0 " + image.Name(), "mount -o loop " + image.Name() + " " + dir} {
		words := strings.Fields(command)
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			t.Skipf("%s: %v: %s", command, err, out)
		}
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount %s: %v: %s", dir, err, out)
		}
	})
	return dir
}
