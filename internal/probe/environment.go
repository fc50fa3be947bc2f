package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/theme"
)

// readMachine asks what the tests run on. What does not answer is named in Unavailable, and no probe fails for it.
func readMachine(tree host.FS) Machine {
	facts := host.ReadFacts()
	m := Machine{
		Hostname: facts.Hostname, Kernel: facts.Kernel, Machine: facts.Machine, MemoryBytes: facts.MemoryBytes,
		LogicalCPUs: facts.LogicalCPUs, Container: facts.Container, Writeback: make(map[string]string),
	}
	for _, name := range []string{
		"dirty_background_bytes", "dirty_background_ratio", "dirty_bytes", "dirty_expire_centisecs",
		"dirty_ratio", "dirty_writeback_centisecs",
	} {
		key := "vm." + name
		if value, err := tree.Text(host.SysctlFile(key)); err == nil {
			m.Writeback[key] = value
		}
	}
	if group, err := tree.Cgroup(0); err != nil {
		m.Unavailable = append(m.Unavailable, fmt.Sprintf("cgroup: %v", err))
	} else {
		m.CgroupIO = group.IO
	}
	m.DirtyLimitBytes = dirtyLimit(tree)
	m.PressureBefore = pressure(tree)
	return m
}

// dirtyLimit is the memory that may wait to be written before writers are held up, by the kernel's last word; 0: it has none.
func dirtyLimit(tree host.FS) int64 {
	return tree.Counters().VM["nr_dirty_threshold"] * int64(os.Getpagesize())
}

func pressure(tree host.FS) string {
	text, _ := tree.Text("proc/pressure/io") // kernels may be built or started without it
	return text
}

// place is a directory while it is probed.
type place struct {
	Directory
	device  [2]int // that it is on
	count   counter
	numbers []string // of the device and of the disks below, as the kernel writes them: "8:0"

	doubtful string // the file system or the memory that says little about a disk, and why: "tmpfs, in memory, not on a disk"
	unlogged string // the file system, where it keeps kt's files out of its log
}

// storageOf finds what a directory is on, by the mount that it is in as far as that is known: it knows more of btrfs.
func storageOf(tree host.FS, dir string) (host.Storage, host.Mount, error) {
	major, minor, err := deviceOf(dir)
	if err != nil {
		return host.Storage{}, host.Mount{}, err
	}
	mounts, unknown := tree.Mounts()
	if unknown != nil {
		unknown = fmt.Errorf("mount options: %w", unknown)
	}
	m, _ := host.MountOf(mounts, resolve(dir))
	if m.Major != major || major != 0 && m.Minor != minor {
		m = host.Mount{Major: major, Minor: minor} // below /proc/PID/root, of a process that has mounts of its own
	}
	storage, err := tree.StorageOf(m)
	return storage, m, errors.Join(unknown, err)
}

// readPlace asks what a directory is on, and what counts there.
func readPlace(tree host.FS, dir string) (*place, error) {
	s, err := readSpace(dir)
	if err != nil {
		return nil, err
	}
	major, minor, err := deviceOf(dir)
	if err != nil {
		return nil, err
	}
	p := &place{
		Directory: Directory{Path: dir, TotalBytes: s.Total, FreeBytes: s.Free}, unlogged: unlogged(s.Magic),
		device: [2]int{major, minor}, numbers: []string{fmt.Sprintf("%d:%d", major, minor)},
	}
	storage, m, err := storageOf(tree, dir)
	if err != nil {
		p.Notes = append(p.Notes, fmt.Sprintf("its device is not fully known: %v", err))
	}
	kind, why := doubtful(s.Magic)
	p.FileSystem, p.MountPoint, p.Options, p.Memory = cmp.Or(m.Type, kind), m.Point, m.Options, storage.Memory
	if p.count = newCounter(tree, major, minor, m.Source); major == 0 && len(storage.Disks) > 1 {
		p.count = nil // a device of several that are one file system
	}
	if p.count == nil {
		p.Notes = append(p.Notes, "the kernel does not count writes to the device: rates are those of the calls")
	}
	if doubted := cmp.Or(p.Memory, kind); doubted != "" {
		p.doubtful = cmp.Or(kind, p.Memory) + ", " + cmp.Or(why, "in memory, not on a disk")
		p.Notes = append(p.Notes, fmt.Sprintf("forced: %s says little about a disk", doubted))
	}
	if kind != "" {
		return p, nil
	}
	p.Device, p.Layers = storage.Device, storage.Layers
	for _, d := range storage.Disks {
		out := Disk{Name: d.Name, Model: d.Model, Rotational: d.Rotational, SizeBytes: d.Size}
		out.Scheduler, _ = tree.Chosen(d.Queue("scheduler")) // a driver may have none
		out.ReadAheadKB, _ = tree.Number(d.Queue("read_ahead_kb"))
		out.Requests, _ = tree.Number(d.Queue("nr_requests"))
		out.WriteCache, _ = tree.Text(d.Queue("write_cache"))
		p.Disks = append(p.Disks, out)
		if number, err := tree.Text("sys/block/" + d.Name + "/dev"); err == nil {
			p.numbers = append(p.numbers, number)
		}
	}
	return p, nil
}

// dd writes one row of the table as dd does: to a file that grows, with the taking of its memory in the time, and without a sync.
func (r *runner) dd(ctx context.Context, p *place, block int64, isDirect bool) (Row, error) {
	row := Row{Block: block, Direct: isDirect, PageCache: !isDirect}
	// So little that it stays in the processor's cache: to read zeros costs dd little.
	data := &pool{data: aligned(512 * kib)}
	fillRandom(data.data)
	t := trial{test: testDD, what: "dd " + ddSize(block), duration: r.t.row}
	var took, cpu time.Duration
	// What dd does not give back in its time, or leaves: its memory and its file.
	var buffer []byte
	var late files
	most := p.SizeBytes / block
	t.workers = []worker{func(ctx context.Context, m *meter) error {
		f, err := nameless(p.Path, isDirect)
		if err != nil {
			return err
		}
		late = files{f}
		begin, used := time.Now(), cpuTime()
		defer func() { took, cpu = time.Since(begin), cpuTime()-used }()
		// Fresh from the kernel, as dd's own is: it finds the pages meanwhile.
		if buffer, err = unix.Mmap(-1, 0, int(block), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE); err != nil {
			return fmt.Errorf("take %s of memory: %w", theme.Bytes(block), err)
		}
		for ; row.Count < most && ctx.Err() == nil; row.Count++ {
			data.copyTo(buffer)
			if err := m.time(time.Now(), len(buffer), func() error { _, err := f.Write(buffer); return err }); err != nil {
				return err
			}
		}
		return nil
	}}
	out, err := r.drive(ctx, p, t)
	late.close()
	if buffer != nil {
		_ = unix.Munmap(buffer) // it came from Mmap
	}
	if errors.Is(err, errNoDirect) {
		return row, fmt.Errorf("dd with oflag=direct in %s: %w: probe without direct", p.Path, errNoDirect)
	}
	row.Seconds, row.Latency, row.Cut = took.Seconds(), out.Latency, row.Count < most
	if took > 0 {
		row.MBPerSecond = float64(row.Count*block) / 1e6 / took.Seconds()
		row.CPUPercent = 100 * cpu.Seconds() / took.Seconds()
	}
	row.Command = ddCommand(p.Path, row)
	return row, err
}

// ddCommand is the command that a row stands for.
func ddCommand(dir string, r Row) string {
	command := fmt.Sprintf("dd if=/dev/zero of=%s bs=%s count=%d", theme.Quoted(filepath.Join(dir, "f")), ddSize(r.Block), r.Count)
	if r.Direct {
		command += " oflag=direct"
	}
	return command
}

// ddSize is a block size as dd takes it: 8k, 1M, 2300.
func ddSize(n int64) string {
	switch {
	case n > 0 && n%mib == 0:
		return fmt.Sprintf("%dM", n/mib)
	case n > 0 && n%kib == 0:
		return fmt.Sprintf("%dk", n/kib)
	}
	return fmt.Sprint(n)
}
