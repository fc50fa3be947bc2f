package suggest

import (
	"strings"
	"testing"
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
			if got := Nearest(tc.given, properties); got != tc.want {
				t.Errorf("Nearest(%q) = %q, want %q", tc.given, got, tc.want)
			}
		})
	}
}

func TestNearestPrefersTheEarlierOfEquals(t *testing.T) {
	if got := Nearest("rate-x", []string{"rate-a", "rate-b"}); got != "rate-a" {
		t.Errorf("got %q, want rate-a", got)
	}
}

func TestNearestPrefersTheLongestEqualBeginningOfEquals(t *testing.T) {
	if got := Nearest("rat", []string{"at", "rate"}); got != "rate" {
		t.Errorf("got %q, want rate", got)
	}
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
			if got := distance(tc.a, tc.b); got != tc.want {
				t.Errorf("distance(%q, %q) = %d, want %d", tc.a, tc.b, got, tc.want)
			}
			if got := distance(tc.b, tc.a); got != tc.want {
				t.Errorf("distance(%q, %q) = %d, want %d", tc.b, tc.a, got, tc.want)
			}
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
			if near := Nearest(c, candidates); fold(near) != fold(c) {
				t.Errorf("Nearest(%q) = %q among %q", c, near, candidates)
			}
		}
		if !found {
			t.Errorf("Nearest(%q) = %q, not among %q", name, got, candidates)
		}
	})
}

// properties are names to choose from, sorted.
var properties = []string{
	"acks", "batch.size", "bootstrap.servers", "buffer.memory", "compression.gzip.level", "compression.type",
	"delivery.timeout.ms", "linger.ms", "max.block.ms", "retries", "retry.backoff.max.ms", "retry.backoff.ms",
}
