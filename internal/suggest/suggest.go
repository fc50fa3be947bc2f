// Package suggest guesses which name a person meant.
package suggest

import "strings"

// Nearest returns the candidate a person most likely meant by name, or "" when
// none is close enough to be worth suggesting. Case and the separators ".",
// "-" and "_" do not count. Three kinds of slip are caught, the first before the
// second, and that before the third:
//
//	batch.sizes, lniger.ms   a few letters wrong, missing, extra or swapped
//	linger, retry.backoff    a name cut short; the shortest completion wins
//	compression-type         a name with words added; the longest beginning wins
//
// Among equals the one with the longest equal beginning wins, then the earlier one.
func Nearest(name string, candidates []string) string {
	given := fold(name)
	allowed := max(1, len(given)/4) // one slip in four letters: beyond that a guess confuses more than it helps
	best, bestDistance := "", allowed+1
	for _, c := range candidates {
		d := distance(given, fold(c))
		if d < bestDistance || d == bestDistance && d <= allowed && common(given, fold(c)) > common(given, fold(best)) {
			best, bestDistance = c, d
		}
	}
	if best != "" || len(given) < 3 {
		return best
	}
	for _, c := range candidates {
		if strings.HasPrefix(fold(c), given) && (best == "" || len(c) < len(best)) {
			best = c
		}
	}
	if best != "" {
		return best
	}
	for _, c := range candidates {
		if strings.HasPrefix(given, fold(c)+".") && len(c) > len(best) {
			best = c
		}
	}
	return best
}

// Hint returns "; did you mean X?" for the nearest of some names, or otherwise if there is none.
func Hint(name string, among []string, otherwise string) string {
	if near := Nearest(name, among); near != "" {
		return "; did you mean " + near + "?"
	}
	return otherwise
}

// List writes names as a sentence does: A, B or C.
func List(names []string, last string) string {
	n := len(names) - 1
	if n < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:n], ", ") + " " + last + " " + names[n]
}

// common returns the length of the beginning that two names share.
func common(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func fold(name string) string {
	return strings.NewReplacer("-", ".", "_", ".").Replace(strings.ToLower(strings.TrimSpace(name)))
}

// distance counts the single-letter edits, and swaps of two neighbours, that
// turn a into b (optimal string alignment). It compares bytes: names of
// properties and flags are ASCII.
func distance(a, b string) int {
	before := make([]int, len(b)+1) // two rows up, needed for swaps only
	above := make([]int, len(b)+1)
	row := make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above, row = above, row, before
	}
	return above[len(b)]
}
