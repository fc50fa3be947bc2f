package plan

import (
	"math"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/theme"
)

func TestParseCountReadsWholeNumbers(t *testing.T) {
	for in, want := range map[string]int64{
		"0": 0, "7": 7, " 100000 ": 100_000, "1,500,000": 1_500_000, "1_500_000": 1_500_000, "-3": -3,
		"50k": 50_000, "50K": 50_000, "1.5M": 1_500_000, "1.001k": 1001, "2G": 2_000_000_000, "1e6": 1_000_000,
		"9223372036854775807": math.MaxInt64,
	} {
		if got, err := ParseCount(in); err != nil || got != want {
			t.Errorf("ParseCount(%q) = %d, %v; want %d", in, got, err, want)
		}
	}
}

func TestParseCountRefusesWhatIsNoWholeNumber(t *testing.T) {
	for in, say := range map[string]string{
		"": "whole number", "ten": "whole number", "k": "whole number", "1.5": "whole number", "1.0005k": "whole number",
		"1m": "whole number", "1,00": "whole number", "1k5": "whole number", "NaN": "whole number", "Inf": "whole number",
		"10E": "too large", "1e19": "too large",
	} {
		if got, err := ParseCount(in); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("ParseCount(%q) = %d, %v; want an error that says %q", in, got, err, say)
		}
	}
}

func TestWhatIsPrintedCanBeTypedAgain(t *testing.T) {
	for _, n := range []int64{0, 1, 999, 1000, 12_300, 826_000, 1_240_000, 3_000_000_000, 250_000_000_000} {
		for _, text := range []string{theme.Count(n), theme.Rate(float64(n)), theme.Tick(float64(n))} {
			if got, err := ParseCount(text); err != nil || got != n {
				t.Errorf("ParseCount(%q) = %d, %v; want %d", text, got, err, n)
			}
		}
	}
	for _, v := range []float64{0.5, 99.6, 20_000, 50_000, 1_240_000} {
		for _, text := range []string{theme.Rate(v), theme.Tick(v), Rate{PerSecond: v}.String()} {
			if got, err := ParseRate(text); err != nil || got.PerSecond != v {
				t.Errorf("ParseRate(%q) = %v, %v; want %v", text, got, err, v)
			}
		}
	}
}
