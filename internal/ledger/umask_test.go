//go:build !race && unix

package ledger

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

func TestTheUmaskSaysWhoMayReadALedger(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.ledger")
	before := syscall.Umask(0o077)
	err := writeFile(path, sample())
	syscall.Umask(before)
	must.Hold(t, err == nil, "%v", err)
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v; want that of a file for nobody else", info.Mode(), err)
	}
}
