package host

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

func TestSpaceIsOfTheFileSystemBelowTheRoot(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.Mkdir(filepath.Join(dir, "data"), 0o755))
	got, err := SystemCalls(dir).Space("/data")
	must.True(t, err == nil && got.Total > 0 && got.Free >= 0 && got.Free <= got.Total && got.FreeFiles <= got.Files,
		"Space(/data) = %+v, %v", got, err)
	_, err = SystemCalls(dir).Space("/other")
	must.True(t, errors.Is(err, fs.ErrNotExist), "Space(/other) error = %v, want ErrNotExist", err)
}

func TestACopyOfAnotherMachinesFilesHasNoClock(t *testing.T) {
	own, err := System().Text("proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Skip("this kernel has no boot id")
	}
	for id, want := range map[string]bool{own: true, "another": false, "": false} {
		dir := t.TempDir()
		file := filepath.Join(dir, "proc/sys/kernel/random/boot_id")
		must.Do(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(id+"\n"), 0o600)))
		got := SystemCalls(dir).Clock()
		must.True(t, (got != nil) == want, "with the boot id %q of a kernel with %q: %+v", id, own, got)
	}
	got := SystemCalls(t.TempDir()).Clock()
	must.True(t, got == nil, "an empty folder has a clock: %+v", got)
}

func TestBlocksThatAreMoreThanBytesCanCount(t *testing.T) {
	for _, row := range []struct {
		blocks uint64
		size   int64
		want   int64
	}{
		{0, 4096, 0},
		{3, 4096, 12288},
		{math.MaxUint64, 1, math.MaxInt64},
		{math.MaxInt64/4096 + 1, 4096, math.MaxInt64},
		{math.MaxInt64, 1, math.MaxInt64},
	} {
		must.Match(t, row.want, times(row.blocks, row.size), "times(%d, %d)", row.blocks, row.size)
	}
}

func TestTheLoopbackHasNoDriverButFeatures(t *testing.T) {
	if runtime.GOOS != "linux" {
		got, err := SystemCalls("/").Ethernet("lo0")
		must.True(t, errors.Is(err, errors.ErrUnsupported), "Ethernet(lo0) = %+v, %v, want ErrUnsupported", got, err)
		return
	}
	got, err := SystemCalls("/").Ethernet("lo")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errors.ErrUnsupported) {
		t.Skip("this sandbox has a network without an ordinary loopback: ", err)
	}
	must.True(t, err == nil && got.Features["tcp-segmentation-offload"] && got.RXRing == 0,
		"Ethernet(lo) = %+v, %v, want segmentation left to the NIC, and no rings", got, err)
	for _, nic := range []string{"no-such-nic", "a name that is too long for one", ""} {
		got, err := SystemCalls("/").Ethernet(nic)
		must.True(t, errors.Is(err, fs.ErrNotExist), "Ethernet(%q) = %+v, %v, want ErrNotExist", nic, got, err)
	}
}

func TestFeaturesHaveTheNamesThatPeopleKnow(t *testing.T) {
	got := groupFeatures(map[string]bool{
		"tx-tcp-segmentation": false, "tx-tcp6-segmentation": true, "tx-udp-segmentation": false,
		"rx-gro": false, "rx-gro-hw": true, "tx-checksum-ipv4": false, "tx-checksum-ip-generic": true,
	})
	want := map[string]bool{
		"tx-tcp-segmentation": false, "tx-tcp6-segmentation": true, "tx-udp-segmentation": false,
		"rx-gro": false, "rx-gro-hw": true, "tx-checksum-ipv4": false, "tx-checksum-ip-generic": true,
		"tcp-segmentation-offload": true, "generic-receive-offload": false, "tx-checksumming": true,
	}
	must.Match(t, want, got, "groupFeatures")
}
