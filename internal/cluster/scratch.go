package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/result"
)

// scratchPrefix begins the names of folders for what is fetched from other hosts.
const scratchPrefix = "collect-"

// staleScratch is how old a folder is that a kt has left that was killed. One that is used is
// claimed, but for file systems without locks and the moment after it was made.
const staleScratch = 7 * 24 * time.Hour

// Scratch makes a folder for fetched files: in base, beside the run files, for they may be too
// much for a temporary file system in memory. If base is "", it is in that.
func Scratch(base string, now time.Time) (dir string, remove func(), err error) {
	if base != "" {
		if err := os.MkdirAll(base, 0o755); err != nil {
			return "", nil, err
		}
		dropStaleScratch(base, now)
	}
	dir, err = os.MkdirTemp(base, scratchPrefix+"*")
	if err != nil {
		return "", nil, err
	}
	f, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	_ = result.TryClaim(f) // it is new
	return dir, func() {
		_ = os.RemoveAll(dir) // it is kt's own, and in the collection
		result.Release(f)
	}, nil
}

// dropStaleScratch removes what killed kts have left. What was in it is on the hosts still.
func dropStaleScratch(base string, now time.Time) {
	entries, _ := os.ReadDir(base) // what cannot be listed stays
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), scratchPrefix) {
			continue
		}
		dir := filepath.Join(base, e.Name())
		f, err := os.Open(dir)
		if err != nil {
			continue
		}
		info, err := f.Stat()
		if err == nil && now.Sub(info.ModTime()) > staleScratch && !result.Claimed(f) {
			_ = os.RemoveAll(dir) // the next one tries again
		}
		_ = f.Close() // it was only looked at
	}
}
