package config

import (
	"errors"
	"testing"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
)

// Sizes of kt probe are as in dd where they have no B, and as everywhere in kt where they have one.
func TestSizesAsInDD(t *testing.T) {
	for text, want := range map[string]int64{
		"8192": 8192, "8k": 8 << 10, "8K": 8 << 10, "08k": 8 << 10, "80M": 80 << 20, "1GiB": 1 << 30, "1MB": 1_000_000, "1.5MB": 1_500_000, "512B": 512, "2t": 2 << 40,
	} {
		must.Match(t, want, must.Have(ddSize(text))(t), "ddSize(%q)", text)
	}
	for _, text := range []string{"", "k", "8x", "-8k", "0", "0x10", "none", "2000t"} {
		if got, err := ddSize(text); err == nil {
			t.Errorf("ddSize(%q) = %d", text, got)
		}
	}
	for _, text := range []string{"8Mb", "8kb", "8b"} {
		if got, err := ddSize(text); !errors.Is(err, plan.ErrBits) {
			t.Errorf("ddSize(%q) = %d, %v, want that it counts bits", text, got, err)
		}
	}
}
