package result

import (
	"strings"
	"testing"
)

func TestALoadThatIsStillRisingSaysByHowMuch(t *testing.T) {
	const n = 100.0 // records a second
	for _, tc := range []struct {
		name  string
		rates []float64 // of each second
		want  string    // "": no note
	}{
		{"even", []float64{n, n, n, n, n, n, n, n}, ""},
		{"slow for half of the time", []float64{n / 2, n / 2, n / 2, n / 2, n / 2, n, n, n, n, n}, "the last 3 s were 33 % above the mean; use --warmup 5s"},
		{"until the end", []float64{n, 2 * n, 3 * n, 4 * n, 5 * n, 6 * n}, "43 % above the mean; use --warmup 4s and a longer --duration"},
		{"a slow start of a long run", append([]float64{n / 2, n / 2, n / 2}, repeated(57, n)...), ""},
		{"a stall in the middle", []float64{n, n, n, 0, 0, 0, n, n, n, n}, ""},
		{"too short", []float64{n / 4, n / 2, n, 2 * n, 4 * n}, ""},
		{"falling", []float64{2 * n, 2 * n, 2 * n, n, n, n}, ""},
	} {
		var series []Point
		sum := 0.0
		for i, rate := range tc.rates {
			series = append(series, Point{StartSeconds: float64(i), Seconds: 1, Acknowledged: int64(rate)})
			sum += rate
		}
		seconds := float64(len(tc.rates))
		got := stillRising(series, Throughput{Seconds: seconds, RecordsPerSecond: sum / seconds})
		if !strings.HasSuffix(got, tc.want) || (got == "") != (tc.want == "") {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func repeated(n int, v float64) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = v
	}
	return all
}
