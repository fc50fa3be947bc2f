package tune

import (
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

// check refuses what no rule can be held to.
func (t Takes) check() error {
	if text, ok := strings.CutPrefix(t.Number, "0.."); t.Number != "" {
		if _, err := strconv.ParseUint(text, 10, 63); !ok || text != "" && err != nil {
			return fmt.Errorf("takes: number: %q is not a range from 0, as 0..200", t.Number)
		}
	}
	return nil
}

// accept refuses a rule that the setting does not take. model is one that kt ships for it, or the zero Rule.
func (t Takes) accept(r, model Rule) error {
	switch {
	case r.Leave():
		return nil
	case t.Raise > 0:
		return t.raises(r)
	case t.Dirty:
		return validDirty(r)
	}
	values := []string{r.Value}
	if r.Op == Equal {
		values = strings.Split(r.Value, "|")
	}
	for _, value := range values {
		if advice := t.advice(r.Op, value, model); advice != "" {
			return fmt.Errorf("%q: %s", value, advice)
		}
	}
	return nil
}

// advice is what to take instead of a value; "" for one that will do.
func (t Takes) advice(op Op, value string, model Rule) string {
	f, notNumber := strconv.ParseFloat(value, 64)
	_, modelIsWord := strconv.ParseFloat(model.Value, 64)
	switch {
	case t.Number != "":
		high := strings.TrimPrefix(t.Number, "0..")
		n, err := strconv.ParseUint(value, 10, 63)
		most, unbounded := strconv.ParseUint(high, 10, 63)
		switch {
		case err != nil && unbounded != nil:
			return "take a whole number of 0 or more"
		case unbounded == nil && (err != nil || n > most):
			return "take a whole number from 0 to " + high
		}
	case t.Figure && (notNumber != nil || f-f != 0): // not a number, or infinite
		return `take a number, as "<= 10"`
	case len(t.Words) > 0 && (op != Equal || !slices.Contains(t.Words, value)):
		return "take " + inProse(t.Words) + didYouMean(value, t.Words)
	case t.Figure, len(t.Words) > 0, model.Leave():
	case modelIsWord == nil && notNumber != nil:
		return fmt.Sprintf("take a number, as %q", model)
	case (model.Value == "yes" || model.Value == "no") && value != "yes" && value != "no":
		return "take yes or no"
	}
	return ""
}

// raises refuses all but lower bounds of whole numbers.
func (t Takes) raises(r Rule) error {
	such, count := ">= "+strings.TrimSpace(strings.Repeat(" 4096", t.Raise)), "a whole number"
	if t.Raise > 1 {
		count = fmt.Sprintf("%d whole numbers, or - for any", t.Raise)
	}
	if r.Op != AtLeast {
		return fmt.Errorf("%q: kt only ever raises this: take %q, with your own value, or leave it empty", r, such)
	}
	fields := strings.Fields(r.Value)
	good := len(fields) == t.Raise
	for _, f := range fields {
		_, err := strconv.ParseUint(f, 10, 63)
		good = good && (err == nil || f == "-" && t.Raise > 1)
	}
	if !good {
		return fmt.Errorf("%q: take %s, as %q", r, count, such)
	}
	return nil
}

// inProse is "a, b or c".
func inProse(words []string) string {
	last := len(words) - 1
	return strings.TrimPrefix(strings.Join(words[:last], ", ")+" or "+words[last], " or ")
}
