package probe

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kt-bench/kt/internal/theme"
)

// dd writes one row of the table as dd does: blocks one after the other to a file
// that grows, timed from when it is open until after the last write, without a
// sync. As in dd, the time has the taking of its memory in it. Each block is filled before it is written, as dd fills its own by reading.
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
			if err := m.time(len(buffer), func() error { _, err := f.Write(buffer); return err }); err != nil {
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
	row.Seconds, row.Latency, row.Cut = took.Seconds(), out.latency(), row.Count < most
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
