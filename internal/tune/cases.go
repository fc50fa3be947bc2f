package tune

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/theme"
)

// Case says something of a value, or of the machine, where its condition holds. The cases of a row are read in order:
//
//   - Before the value is read, only cases with Unknown or Absent count. The first that holds is the reading.
//   - After that all cases count. Until then the fact value is empty.
//   - A case with a Verdict is the last one, and the value is not compared with the rule.
//   - Any other case adds its Note, and replaces Shown, Wanted, Command and Bad. With a Command kt makes no change itself.
//
// A condition is EXPRESSION = EXPRESSION, and several of them with "and". In place of = stand != < <= > >=, has (a word in a list
// with commas), like and unlike (a regular expression). An expression is a fact, a number or a word in single quotes, or several
// with + - * / // % min max between them, which are worked out from left to right. "X or Y" is Y where X was divided by zero, and
// "X else Y" where X cannot be read. What cannot be read is empty in a condition. In a text {EXPRESSION} stands for its value.
// {EXPRESSION|bytes}, {…|time}, {…|2} and {…|CPU} show it as bytes, as a duration of seconds, with two decimals and as CPUs.
type Case struct {
	If      string  `yaml:"if"`
	Unknown string  `yaml:"unknown"`
	Absent  string  `yaml:"absent"`
	Verdict Verdict `yaml:"verdict"`
	Bad     Verdict `yaml:"bad"` // the verdict if the value is not as wanted
	Shown   string  `yaml:"shown"`
	Wanted  string  `yaml:"wanted"`
	Note    string  `yaml:"note"`
	Command string  `yaml:"command"`
}

// cases applies the cases of the row that hold to a reading.
func (a place) cases(r *Reading) {
	for _, c := range a.row.Read.Cases {
		switch ends := c.Unknown + c.Absent; {
		case r.Verdict != "", ends == "" && a.value == "", !a.holds(c.If):
		case c.Unknown != "":
			*r = Reading{Verdict: Unknown, Current: cmp.Or(a.fillWords(c.Shown), r.shown, r.Current), Note: a.fillWords(c.Unknown)}
		case c.Absent != "":
			*r = Absent("%s", a.fillWords(c.Absent))
		default:
			r.addNote("%s", a.fillWords(c.Note))
			r.shown = cmp.Or(a.fillWords(c.Shown), r.shown)
			r.Wanted = cmp.Or(a.fillWords(c.Wanted), r.Wanted)
			r.Command = cmp.Or(a.fillWords(c.Command), r.Command)
			r.bad, r.Verdict = cmp.Or(c.Bad, r.bad), c.Verdict
			if c.Command+string(c.Verdict) != "" { // kt does not change it then
				r.Changes = nil
			}
			if r.Verdict != "" {
				r.Wanted = cmp.Or(r.Wanted, a.fillWords(a.row.Read.Wanted))
				if r.Verdict == Warn || r.Verdict == Fail {
					r.Command = cmp.Or(r.Command, a.fillWords(a.names(a.row.Read.Command)))
				}
				a.show(r)
			}
		}
	}
}

var (
	comparison  = regexp.MustCompile(`^(.+?) (=|!=|<|<=|>|>=|has|like|unlike) (.+)$`)
	placeholder = regexp.MustCompile(`\{([^|{}]+)(\|[A-Za-z ]+|\|[0-9])?\}`)
	operators   = map[string]func(x, y float64) float64{
		"+": func(x, y float64) float64 { return x + y }, "-": func(x, y float64) float64 { return x - y },
		"*": func(x, y float64) float64 { return x * y }, "/": func(x, y float64) float64 { return x / y },
		"//":  func(x, y float64) float64 { return math.Floor(x / y) },
		"min": math.Min, "max": math.Max, "%": math.Mod, "or": nil, "else": nil, // which are worked out apart
	}
)

// holds reports whether all parts of a condition hold. What cannot be read is empty.
func (a place) holds(condition string) bool {
	all, _ := a.test(condition)
	return all
}

// test is [place.holds], with the error of what could not be read.
func (a place) test(condition string) (all bool, err error) {
	value := func(expression string) string {
		text, wrong := a.eval(expression)
		if wrong != nil {
			text, err = "", cmp.Or(err, wrong)
		}
		return text
	}
	all = true
	for part := range strings.SplitSeq(cmp.Or(condition, "0 = 0"), " and ") {
		f := comparison.FindStringSubmatch(part)
		all = compares(f[2], value(f[1]), value(f[3])) && all
	}
	return all, err
}

// answer reads whether a condition of the row holds.
func (a place) answer() Reading {
	holds, err := a.test(a.row.Read.Answer)
	if err != nil {
		return a.unreadable(err)
	}
	return Reading{Current: yesNo(holds)}
}

// compares reports whether a comparison of two texts holds: of numbers by their order, if both are some.
func compares(operator, left, right string) bool {
	x, err := strconv.ParseFloat(left, 64)
	y, bad := strconv.ParseFloat(right, 64)
	numbers, order := err == nil && bad == nil, cmp.Compare(x, y)
	switch operator {
	case "=", "!=":
		return (left == right || numbers && order == 0) == (operator == "=")
	case "has":
		return right != "" && slices.Contains(strings.Split(left, ","), right)
	case "like", "unlike":
		found, err := regexp.MatchString(right, left)
		return err == nil && found == (operator == "like")
	}
	return numbers && slices.Contains(map[string][]int{"<": {-1}, "<=": {-1, 0}, ">": {1}, ">=": {1, 0}}[operator], order)
}

// eval works out an expression. If the value is not a number where one is needed, it returns the value and an error.
func (a place) eval(expression string) (string, error) {
	words, known := strings.Fields(expression), sync.OnceValue(a.facts)
	out, err := fact(known, words[0])
	for i := 1; i+1 < len(words); i += 2 {
		next, bad := fact(known, words[i+1])
		x, wrong := strconv.ParseFloat(out, 64)
		y, noNumber := strconv.ParseFloat(next, 64)
		switch {
		case words[i] == "else" && err != nil, words[i] == "or" && err == nil && (math.IsNaN(x) || math.IsInf(x, 0)):
			out, err = next, bad
		case operators[words[i]] == nil, err != nil:
		case bad != nil:
			out, err = next, bad
		case wrong != nil || noNumber != nil:
			out, err = "", fmt.Errorf("%s: %q or %q is not a number", expression, out, next)
		default:
			out = strconv.FormatFloat(operators[words[i]](x, y), 'f', -1, 64)
		}
	}
	if len(words) > 1 && err == nil && (out == "NaN" || strings.HasSuffix(out, "Inf")) {
		return "", fmt.Errorf("%s is not known", expression)
	}
	return out, err
}

// fillWords puts the values of expressions into a text of the row.
func (a place) fillWords(text string) string {
	text, _ = a.fill(text) // what cannot be read is "?"
	return text
}

func (a place) fill(text string) (filled string, problem error) {
	return placeholder.ReplaceAllStringFunc(text, func(in string) string {
		f := placeholder.FindStringSubmatch(in)
		value, err := a.eval(f[1])
		n, noNumber := strconv.ParseFloat(value, 64)
		switch {
		case err != nil:
			problem = err
			return "?"
		case f[2] == "|bytes" && noNumber == nil:
			return theme.Bytes(int64(n))
		case len(f[2]) == 2 && noNumber == nil:
			return strconv.FormatFloat(n, 'f', int(f[2][1]-'0'), 64)
		case f[2] == "|time" && noNumber == nil:
			return theme.Duration(time.Duration(n * float64(time.Second)))
		case len(f[2]) > 2 && noNumber == nil:
			return plural(n, f[2][1:])
		}
		return rounded(value, 2)
	}), problem
}

// expression is the value of a row that is worked out.
func (a place) expression() Reading {
	value, err := a.eval(a.row.Read.Value)
	if err != nil {
		r := a.unreadable(err)
		r.Current = value
		return r
	}
	if places := a.row.Read.Round; places != nil {
		value = rounded(value, *places)
	}
	return Reading{Current: value}
}

// check refuses a condition or an expression that cannot be worked out.
func (r Read) check() error {
	expressions, conditions := []string{r.Value, r.Floor}, []string{r.Answer}
	texts := r.Rule + r.Note + r.Command + r.Wanted
	for _, c := range r.Cases {
		conditions = append(conditions, c.If)
		texts += c.Unknown + c.Absent + c.Shown + c.Wanted + c.Note + c.Command
	}
	for _, condition := range conditions {
		for part := range strings.SplitSeq(cmp.Or(condition, "0 = 0"), " and ") {
			f := comparison.FindStringSubmatch(part)
			if f == nil {
				return fmt.Errorf("cases: %q is no condition", part)
			}
			if _, err := regexp.Compile(strings.Trim(f[3], "'")); err != nil && strings.HasSuffix(f[2], "like") {
				return fmt.Errorf("cases: %q: %w", part, err)
			}
			expressions = append(expressions, f[1], f[3])
		}
	}
	for _, in := range placeholder.FindAllStringSubmatch(texts, -1) {
		expressions = append(expressions, in[1])
	}
	known := place{Machine: &Machine{}}.facts()
	for _, expression := range expressions {
		words := strings.Fields(cmp.Or(expression, "0"))
		if len(words)%2 == 0 {
			return fmt.Errorf("%q lacks a value or an operator", expression)
		}
		for i, word := range words {
			name, _, _ := strings.Cut(word, ":")
			_, number := strconv.ParseFloat(word, 64)
			_, operator := operators[word]
			switch {
			case i%2 == 1 && !operator:
				return fmt.Errorf("%q: %q is no operator", expression, word)
			case i%2 == 0 && known[name] == nil && number != nil && word[0] != '\'':
				return fmt.Errorf("there is no fact %q; a word stands in single quotes", word)
			}
		}
	}
	return nil
}
