package cmd

import (
	"os"
	"path/filepath"
	"time"

	"github.com/kt-bench/kt/internal/result"
)

// scratchPattern names folders for what is fetched from other hosts.
const scratchPattern = "collect-*"

// staleScratch is how old a folder is that a kt has left that was killed. One that is used is
// claimed, but for file systems without locks and the moment after it was made.
const staleScratch = 7 * 24 * time.Hour

// scratch makes a folder for what is fetched, beside the run files: what is fetched may be
// too much for a temporary file system in memory.
func scratch(env *Env) (dir string, remove func(), err error) {
	base := env.stateDir()
	if base != "" {
		if err := os.MkdirAll(base, 0o755); err != nil {
			return "", nil, err
		}
		dropStaleScratch(base, env.Now())
	}
	dir, err = os.MkdirTemp(base, scratchPattern)
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
	dirs, _ := filepath.Glob(filepath.Join(escapeGlob(base), scratchPattern)) // the pattern is right
	for _, dir := range dirs {
		f, err := os.Open(dir)
		if err != nil {
			continue
		}
		info, err := f.Stat()
		if err == nil && info.IsDir() && now.Sub(info.ModTime()) > staleScratch && !result.Claimed(f) {
			_ = os.RemoveAll(dir) // the next one tries again
		}
		_ = f.Close() // it was only looked at
	}
}
