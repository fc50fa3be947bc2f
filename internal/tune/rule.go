package tune

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Rule is a wanted value. The zero Rule leaves a value as it is.
type Rule struct {
	Op Op
	// Value is a number, a word, a list of words of which each will do ("madvise|never"), or numbers that are compared one by one
	// ("4096 131072 16777216", as in tcp_rmem; "-" in one's place: any).
	Value string
}

// Op is how a value is compared.
type Op string

// The comparisons.
const (
	Leave   Op = ""
	Equal   Op = "="
	AtLeast Op = "≥" // never lowered
	AtMost  Op = "≤" // never raised
)

// ParseRule reads "", "=1", ">=262144", "≤1", "performance" or "madvise|never".
func ParseRule(text string) (Rule, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return Rule{}, nil
	}
	r := Rule{Op: Equal, Value: text}
	for _, o := range []struct {
		prefix string
		op     Op
	}{{">=", AtLeast}, {"≥", AtLeast}, {"<=", AtMost}, {"≤", AtMost}, {"=", Equal}} {
		if v, ok := strings.CutPrefix(text, o.prefix); ok {
			r = Rule{o.op, strings.TrimSpace(v)}
			break
		}
	}
	r.Value = decimals(r.Value)
	if r.Value == "" {
		return Rule{}, fmt.Errorf("%q: there is nothing after the comparison", text)
	}
	if r.Op == AtLeast || r.Op == AtMost {
		for _, f := range strings.Fields(r.Value) {
			if _, err := strconv.ParseFloat(f, 64); err != nil && f != "-" {
				return Rule{}, fmt.Errorf("%q: %q is not a number, and only numbers can be compared with %s", text, f, r.Op)
			}
		}
	}
	return r, nil
}

var leadingZeros = regexp.MustCompile(`(^|[ |])0+([0-9])`)

// decimals returns a value without zeros in front of its numbers: the kernel would take 010 for 8.
func decimals(value string) string { return leadingZeros.ReplaceAllString(value, "$1$2") }

// Leave tells that the value is left as it is.
func (r Rule) Leave() bool { return r.Op == Leave }

// String is the rule as it is shown: "≥ 262144", "madvise or never", "1", "number 3 ≥ 4194304".
func (r Rule) String() string {
	switch r.Op {
	case Leave:
		return "left alone"
	case Equal:
		return strings.ReplaceAll(r.Value, "|", " or ")
	}
	parts := strings.Fields(r.Value)
	if !slices.Contains(parts, "-") {
		return string(r.Op) + " " + r.Value
	}
	var shown []string
	for i, part := range parts {
		if part != "-" {
			shown = append(shown, fmt.Sprintf("number %d %s %s", i+1, r.Op, part))
		}
	}
	return strings.Join(shown, ", ")
}

// Holds reports whether a value is as wanted. One that cannot be compared is not.
func (r Rule) Holds(current string) bool {
	now := strings.Join(strings.Fields(current), " ")
	switch r.Op {
	case Leave:
		return true
	case Equal:
		return slices.Contains(strings.Split(r.Value, "|"), now)
	}
	return r.Target(now) == now
}

// Target is what to write where the rule does not hold: its first word, or each number that is not as wanted replaced.
func (r Rule) Target(current string) string {
	if r.Op == Equal {
		first, _, _ := strings.Cut(r.Value, "|")
		return first
	}
	got, want := strings.Fields(current), strings.Fields(r.Value)
	if len(got) != len(want) {
		return r.Value
	}
	for i := range want {
		have, err := strconv.ParseFloat(got[i], 64)
		bound, bad := strconv.ParseFloat(want[i], 64)
		if want[i] == "-" || err == nil && bad == nil && (r.Op == AtLeast && have >= bound || r.Op == AtMost && have <= bound) {
			want[i] = got[i]
		}
	}
	return strings.Join(want, " ")
}

// Floor raises a lower bound: "≥ 100000" with 250000 is "≥ 250000". Any other rule stays as it is.
func (r Rule) Floor(n int64) Rule {
	if v, err := strconv.ParseFloat(r.Value, 64); r.Op == AtLeast && err == nil && float64(n) > v {
		return Rule{AtLeast, strconv.FormatInt(n, 10)}
	}
	return r
}

// Takes are the rules that a setting takes beside the empty one, which leaves its value alone. The zero Takes
// takes every rule that is of the kind of those that kt ships for it.
type Takes struct {
	Raise  int      `yaml:"raise"`  // lower bounds of so many whole numbers, for what kt never lowers; of several each may be "-", for any
	Number string   `yaml:"number"` // a whole number of a range: "0..200", "0.."
	Words  []string `yaml:"words"`  // one or several of them
	Dirty  bool     `yaml:"dirty"`  // an amount of unwritten data
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
	f, err := strconv.ParseFloat(value, 64)
	_, word := strconv.ParseFloat(model.Value, 64)
	var number accepted
	_ = number.UnmarshalText([]byte(t.Number)) // complete has read it
	switch high := strings.TrimPrefix(t.Number, "0.."); {
	case number.accept(value, "") != nil && high != "":
		return "take a whole number from 0 to " + high
	case number.accept(value, "") != nil && t.Number != "":
		return "take a whole number of 0 or more"
	case len(t.Words) > 0 && (op != Equal || !slices.Contains(t.Words, value)):
		return "take " + inProse(t.Words) + didYouMean(value, t.Words)
	case t.Number != "", len(t.Words) > 0, model.Leave():
	case word == nil && (err != nil || f-f != 0): // not a number, or infinite
		return fmt.Sprintf("take a number, as %q", model)
	case slices.Contains([]string{"yes", "no"}, model.Value) && value != "yes" && value != "no":
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
