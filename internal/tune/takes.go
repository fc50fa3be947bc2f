package tune

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Takes are the rules that a setting takes beside the empty one, which leaves its value alone. The zero Takes
// takes every rule that is of the kind of those that kt ships for it.
type Takes struct {
	Raise  int      `yaml:"raise"`  // lower bounds of so many whole numbers, for what kt never lowers; of several each may be "-", for any
	Number string   `yaml:"number"` // a whole number of a range: "0..200", "0.."
	Figure bool     `yaml:"figure"` // any number: for what kt works out and only reports
	Words  []string `yaml:"words"`  // one or several of them
	Dirty  bool     `yaml:"dirty"`  // an amount of unwritten data
}

// of returns what takes a rule, nil for the zero Takes.
func (t Takes) of() func(Rule) error {
	switch {
	case t.Raise > 0:
		return raiseOnly(t.Raise)
	case t.Number != "":
		high, err := strconv.ParseInt(strings.TrimPrefix(t.Number, "0.."), 10, 64)
		if err != nil {
			high = -1
		}
		return wholeNumber(high)
	case t.Figure:
		return figure
	case len(t.Words) > 0:
		return oneOf(t.Words...)
	case t.Dirty:
		return validDirty
	}
	return nil
}

// check refuses what no rule can be held to.
func (t Takes) check() error {
	if text, ok := strings.CutPrefix(t.Number, "0.."); t.Number != "" {
		if _, err := strconv.ParseUint(text, 10, 63); !ok || text != "" && err != nil {
			return errors.New("takes: number: take a range from 0, as 0..200 or 0..")
		}
	}
	return nil
}

// raiseOnly takes lower bounds of n whole numbers, for what kt never lowers. Of several
// numbers each may be "-", for any.
func raiseOnly(n int) func(Rule) error {
	such, count := ">= "+strings.TrimSpace(strings.Repeat(" 4096", n)), "a whole number"
	if n > 1 {
		count = fmt.Sprintf("%d whole numbers, or - for any", n)
	}
	return func(r Rule) error {
		if r.Leave() {
			return nil
		}
		if r.Op != AtLeast {
			return fmt.Errorf("%q: kt only ever raises this: take %q, with your own value, or leave it empty", r, such)
		}
		fields := strings.Fields(r.Value)
		good := len(fields) == n
		for _, f := range fields {
			_, err := strconv.ParseUint(f, 10, 63)
			good = good && (err == nil || f == "-" && n > 1)
		}
		if !good {
			return fmt.Errorf("%q: take %s, as %q", r, count, such)
		}
		return nil
	}
}

// wholeNumber takes a whole number from 0 to high, compared in any way; high below 0: any.
func wholeNumber(high int64) func(Rule) error {
	allowed := fmt.Sprintf("take a whole number from 0 to %d", high)
	if high < 0 {
		allowed = "take a whole number of 0 or more"
	}
	return func(r Rule) error {
		if r.Leave() {
			return nil
		}
		for _, text := range alternatives(r) {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil || n < 0 || high >= 0 && n > high {
				return fmt.Errorf("%q: %s", text, allowed)
			}
		}
		return nil
	}
}

// figure takes any number: for what kt works out and only reports.
func figure(r Rule) error {
	if r.Leave() {
		return nil
	}
	for _, text := range alternatives(r) {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || n-n != 0 { // not a number, or infinite
			return fmt.Errorf("%q: take a number, as \"<= 10\"", text)
		}
	}
	return nil
}

// oneOf takes words of a list, one or several.
func oneOf(words ...string) func(Rule) error {
	return func(r Rule) error {
		if r.Leave() {
			return nil
		}
		for _, word := range alternatives(r) {
			if r.Op != Equal || !slices.Contains(words, word) {
				return fmt.Errorf("%q: take %s%s", r, inProse(words), didYouMean(word, words))
			}
		}
		return nil
	}
}

// alternatives are the values of which each will do.
func alternatives(r Rule) []string {
	if r.Op == Equal {
		return strings.Split(r.Value, "|")
	}
	return []string{r.Value}
}

// inProse is "a, b or c".
func inProse(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
