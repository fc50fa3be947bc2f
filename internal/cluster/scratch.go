package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/result"
)

// scratchPrefix begins the names of folders for fetched files.
const scratchPrefix = "collect-"

// staleScratch is the age from which on a folder counts as left by a killed kt, unless it is
// claimed. The age protects folders on file systems without locks, and those that are just being
// made.
const staleScratch = 7 * 24 * time.Hour

// Scratch makes a folder for fetched files in base, or in the system's folder for temporary files
// if base is "". Run files may be too large for a temporary file system in memory.
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
	_ = result.TryClaim(f) // nobody else knows the folder
	return dir, func() {
		_ = os.RemoveAll(dir) // the collection has the files
		result.Release(f)
	}, nil
}

// dropStaleScratch removes folders that killed kts have left. The hosts still have the files.
func dropStaleScratch(base string, now time.Time) {
	entries, _ := os.ReadDir(base) // without a list nothing is removed
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
			_ = os.RemoveAll(dir) // the next kt tries again
		}
		_ = f.Close() // only a folder
	}
}
