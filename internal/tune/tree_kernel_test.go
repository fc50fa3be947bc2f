package tune

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

func TestWriteGivesAFileItsValue(t *testing.T) {
	for _, row := range []struct{ name, old, value, want string }{
		{"a longer value", "60\n", "100\n100", "100\n100\n"},
		{"a shorter value leaves nothing of the old one", "500000\n", "1", "1\n"},
		{"a value for an empty file", "", "1", "1\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "value")
			must.Do(t, os.WriteFile(file, []byte(row.old), 0o640))
			f := must.Have(os.OpenFile(file, os.O_RDWR, 0))(t)
			must.Do(t, errors.Join((systemKernel{}).Write(f, row.value), f.Close()))
			got, err := os.ReadFile(file)
			if err != nil || string(got) != row.want {
				t.Errorf("Write(%q) over %q made %q, %v; want %q", row.value, row.old, got, err, row.want)
			}
		})
	}
}

func TestSettingAValueMakesNoFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "value")
	if err := NewTree(dir, "").set(subject{Kind: WriteFile, Path: "/value"}, "1"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("set of a file that is not there = %v, want %v", err, fs.ErrNotExist)
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat after it = %v: set made the file", err)
	}
}

func TestNormalIsHowValuesAreCompared(t *testing.T) {
	for _, row := range []struct{ name, value, want string }{
		{"a number with a line's end", "60\n", "60"},
		{"numbers with tabs", "4096\t131072\t6291456\n", "4096 131072 6291456"},
		{"the chosen one of a list", "always [madvise] never\n", "madvise"},
		{"a single choice", "[none]\n", "none"},
		{"a bracket that does not close", "a [b", "a [b"},
		{"nothing", "\n", ""},
	} {
		must.Match(t, row.want, normal(row.value), "%s: normal(%q)", row.name, row.value)
	}
}

func TestLimitsAreReadAsTheyAreShown(t *testing.T) {
	for _, row := range []struct {
		value      string
		soft, hard int64
		bad        bool
	}{
		{"1024 524288", 1024, 524288, false},
		{"100000\tunlimited", 100000, -1, false},
		{"unlimited unlimited", -1, -1, false},
		{"1024", 0, 0, true},
		{"-1 -1", 0, 0, true},
		{"9223372036854775808 9223372036854775808", 0, 0, true},
		{"18446744073709551615 unlimited", 0, 0, true},
		{"1k 2k", 0, 0, true},
	} {
		soft, hard, err := parseLimits(row.value)
		if soft != row.soft || hard != row.hard || (err != nil) != row.bad {
			t.Errorf("parseLimits(%q) = %d, %d, %v; want %d, %d and an error: %t", row.value, soft, hard, err, row.soft, row.hard, row.bad)
		}
	}
}
