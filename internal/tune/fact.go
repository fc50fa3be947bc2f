package tune

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strconv"
	"strings"
)

// fact is what a check reads of a machine. Its row holds it to a rule, and has the words.
type fact struct {
	value   string  // that the rule is held to
	shown   string  // in place of the value with its unit
	note    string  // what is special here
	verdict Verdict // whatever the rule says
	bad     Verdict // in place of the row's, where it is not as wanted
	command string  // in place of the row's
	rule    Rule    // in place of the row's, unless a profile leaves it alone
}

// number is the fact of a figure that kt has worked out.
func number(n float64) fact {
	return fact{value: strconv.FormatFloat(math.Round(n*100)/100, 'f', -1, 64)}
}

// partOf is the fact of a part in percent, shown as "70 of 100".
func partOf(part, whole int64) fact {
	f := number(100 * float64(part) / float64(max(1, whole)))
	f.shown = fmt.Sprintf("%d of %d", part, whole)
	return f
}

// text is how a value without a unit is shown.
func (f fact) text() string { return cmp.Or(f.shown, f.value) }

// none is the error of a fact that a machine does not have: the reason.
type none string

func (n none) Error() string { return string(n) }

// judge is the check of a row whose value is a fact.
func (s *Setting) judge(read func(*Machine) (fact, error)) check {
	return func(m *Machine, want Rule) Reading {
		f, err := read(m)
		return s.reading(m, f, err, want)
	}
}

// reading holds a fact to a rule, or says why there is none.
func (s *Setting) reading(m *Machine, f fact, err error, want Rule) Reading {
	if err != nil {
		return s.lacks(m, err)
	}
	ruled := s.Want != "" || s.Takes.of() != nil // or it is only shown
	if !f.rule.Leave() && (!want.Leave() || !ruled) {
		want = f.rule
	}
	r := Compare(f.value, want, cmp.Or(f.bad, s.verdict()))
	r.Verdict = cmp.Or(f.verdict, r.Verdict)
	r.Current, r.Note = cmp.Or(f.shown, s.Read.As[f.value], f.value+s.Read.unit()), f.note
	switch {
	case !want.Leave():
		r.Wanted += s.Read.unit()
	case !ruled:
		r.Wanted = ""
	}
	if r.Verdict != OK && !want.Leave() {
		r.Command = strings.ReplaceAll(cmp.Or(f.command, s.Read.Command), "%s", want.Target(f.value))
	}
	return r
}

// milder turns the verdict of a row into a note for the values of its rule for that.
func (s *Setting) milder(f check) check {
	text, not := strings.CutPrefix(s.Read.Milder, "!")
	rule, _ := ParseRule(text) // [Setting.complete] has looked at it
	if rule.Leave() {
		return f
	}
	return func(m *Machine, want Rule) Reading {
		r := f(m, want)
		if r.Verdict == s.verdict() && rule.Holds(cmp.Or(r.value, r.Current)) != not {
			r.Verdict = Info
		}
		return r
	}
}

// lacks is [Denied] in the words of the row.
func (s *Setting) lacks(m *Machine, err error) Reading {
	r := Denied(err)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errors.ErrUnsupported) {
		r.Note = cmp.Or(s.Read.Missing, r.Note)
		if m.Virtual != "" {
			r.Note = cmp.Or(s.Read.Virtual, r.Note)
		}
	}
	return r
}

// unit is what follows a value.
func (r Read) unit() string {
	if r.Unit == "" {
		return ""
	}
	return " " + r.Unit
}
