package suggest

import (
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

func TestNearestFindsWhatWasMeant(t *testing.T) {
	for _, tc := range []struct{ name, given, want string }{
		{"a letter too many", "batch.sizes", "batch.size"},
		{"a letter missing", "ack", "acks"},
		{"two letters swapped", "lniger.ms", "linger.ms"},
		{"underscores for dots", "batch_size", "batch.size"},
		{"hyphens and capitals", "Linger-MS", "linger.ms"},
		{"the end left out", "linger", "linger.ms"},
		{"the shortest of several completions", "compression", "compression.type"},
		{"the shorter backoff", "retry.backoff", "retry.backoff.ms"},
		{"words added", "acks-required", "acks"},
		{"nothing alike", "number.of.goats", ""},
		{"too short to tell", "x", ""},
		{"nothing", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			must.Match(t, tc.want, Nearest(tc.given, properties), "Nearest(%q)", tc.given)
		})
	}
}

func TestNearestPrefersTheEarlierOfEquals(t *testing.T) {
	must.Match(t, "rate-a", Nearest("rate-x", []string{"rate-a", "rate-b"}), "the nearest name")
}

func TestNearestPrefersTheLongestEqualBeginningOfEquals(t *testing.T) {
	must.Match(t, "rate", Nearest("rat", []string{"at", "rate"}), "the nearest name")
}

func TestDistanceCountsEdits(t *testing.T) {
	for _, tc := range []struct {
		name, a, b string
		want       int
	}{
		{"equal words", "acks", "acks", 0},
		{"nothing to a word", "", "acks", 4},
		{"one letter changed", "acks", "acts", 1},
		{"one letter added", "acks", "backs", 1},
		{"neighbours swapped", "acks", "akcs", 1},
		{"all different", "abc", "xyz", 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			must.Match(t, tc.want, distance(tc.a, tc.b), "distance(%q, %q)", tc.a, tc.b)
			must.Match(t, tc.want, distance(tc.b, tc.a), "distance(%q, %q)", tc.b, tc.a)
		})
	}
}

// FuzzNearest: it returns "" or one of the candidates, and a candidate given as
// it stands is its own nearest.
func FuzzNearest(f *testing.F) {
	f.Add("batch.sizes", "batch.size linger.ms")
	f.Fuzz(func(t *testing.T, name, list string) {
		candidates := strings.Fields(list)
		got := Nearest(name, candidates)
		found := got == ""
		for _, c := range candidates {
			found = found || c == got
			near := Nearest(c, candidates)
			must.True(t, fold(near) == fold(c), "Nearest(%q) = %q among %q", c, near, candidates)
		}
		must.True(t, found, "Nearest(%q) = %q, not among %q", name, got, candidates)
	})
}

// properties are names to choose from, sorted.
var properties = []string{
	"acks", "batch.size", "bootstrap.servers", "buffer.memory", "compression.gzip.level", "compression.type",
	"delivery.timeout.ms", "linger.ms", "max.block.ms", "retries", "retry.backoff.max.ms", "retry.backoff.ms",
}
