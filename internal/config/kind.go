package config

import (
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/suggest"
)

// kind is how the texts of a flag are read.
type kind struct {
	name    string                            // of the type, for pflag and the help
	read    func(texts []string) (any, error) // The error gives the reason alone.
	choices []string                          // nil: any text
	silent  bool                              // the reason has the value, or must not show it
	begins  bool                              // the reason begins with the value
}

func scalar[T any](name string, read func(string) (T, error)) kind {
	return kind{name: name, read: func(texts []string) (any, error) { return read(texts[len(texts)-1]) }}
}

var (
	textKind     = scalar("string", func(s string) (string, error) { return s, nil })
	listKind     = kind{name: "stringSlice", read: func(texts []string) (any, error) { return texts, nil }} // A,B
	repeatedKind = kind{name: "stringArray", read: listKind.read}                                           // of A, and of B
	boolKind     = scalar("bool", func(s string) (bool, error) {
		on, err := strconv.ParseBool(s)
		if err != nil {
			err = errors.New("it must be true or false")
		}
		return on, err
	})
	bytesKind = scalar("string", func(s string) (int64, error) {
		if s == "-1" { // some properties have a meaning for it, and the others refuse it
			return -1, nil
		}
		return plan.ParseBytes(s)
	})
)

// each is a list whose items are read one by one.
func each[T any](k kind, read func(string) (T, error)) kind {
	k.read = func(texts []string) (any, error) {
		var all []T
		for _, text := range texts {
			one, err := read(text)
			if err != nil {
				return nil, err
			}
			all = append(all, one)
		}
		return all, nil
	}
	return k
}

// optional is a kind for which the empty text is no value.
func optional(k kind) kind {
	read := k.read
	k.read = func(texts []string) (any, error) {
		if len(texts) == 0 || texts[len(texts)-1] == "" {
			return nil, nil
		}
		return read(texts)
	}
	return k
}

// whole is a number without a fraction, in any form in which kt prints one: 1500000, 1,500,000 or 1.5M.
func whole(least, most int64) kind {
	return scalar("int", func(s string) (int64, error) {
		n, err := plan.ParseCount(s)
		switch {
		case err != nil:
			return 0, err
		case n >= least && n <= most:
			return n, nil
		case most >= 1<<31-1:
			if n > most {
				return 0, errors.New("it is too large")
			}
			return 0, fmt.Errorf("it must be %d or more", least)
		}
		return 0, fmt.Errorf("it must be from %d to %d", least, most)
	})
}

// choice is one of some words.
func choice(words ...string) kind {
	k := scalar("string", func(s string) (string, error) { return s, oneOf(s, words) })
	k.choices = words
	return k
}

// oneOf returns an error unless a text is one of some words.
func oneOf(text string, words []string) error {
	if slices.Contains(words, text) {
		return nil
	}
	return fmt.Errorf("it must be one of %s%s", strings.Join(words, ", "), hint(text, words, ""))
}

// hint returns "; did you mean X?" for the name that is most like another, or otherwise if there is none.
func hint(name string, among []string, otherwise string) string {
	if near := suggest.Nearest(name, among); near != "" {
		return "; did you mean " + near + "?"
	}
	return otherwise
}

// span is a time within bounds. A number alone is of the unit; 0: there is none. how says how it is written.
func span(unit, least, most time.Duration, how string) kind {
	return scalar("string", func(s string) (time.Duration, error) {
		d, err := plan.ParseTime(s, unit)
		if unit == 0 {
			d, err = plan.ParseDuration(s)
		}
		if err != nil || d < least || d > most {
			return 0, errors.New("write " + how)
		}
		return d, nil
	})
}

// ages are times until now.
var ages = span(0, 0, 100*365*24*time.Hour, "a time from 0 to a hundred years (12h, 7d)")

const longest = time.Duration(1<<63 - 1)

// share is a part of a whole, as 3% or 0.03.
func share(least, most float64, how string) kind {
	return scalar("string", func(s string) (float64, error) {
		percent, isPercent := strings.CutSuffix(s, "%")
		v, err := plan.ParseNumber(percent)
		if isPercent {
			v /= 100
		}
		if err != nil || v < least || v > most {
			return 0, errors.New("write a share " + how)
		}
		return v, nil
	})
}

// value is the value of a flag: its texts, and what they mean.
type value struct {
	*setting
	texts   []string
	is      any
	given   bool
	below   bool            // a layer below the command line has set it
	refused []*plan.Problem // of texts that it did not take
}

// Set reads a text. What is wrong with one is kept until the settings are loaded, which tells every problem at once, each with
// its source.
func (v *value) Set(text string) error {
	if err := v.take(text); err != nil {
		p := plan.Refuse(v.name, text, "%w", err)
		if v.silent {
			p = plan.Refuse(v.name, nil, "%w", err)
		} else if v.begins {
			p = plan.About(v.name, fmt.Errorf("--%s %w", v.name, err))
		}
		v.refused = append(v.refused, p)
	}
	return nil
}

// take reads a text. A list that is given several times is one list.
func (v *value) take(text string) error {
	if v.single && v.given && text != v.texts[0] {
		return fmt.Errorf("%q is given too: give one", v.texts[0])
	}
	texts := []string{text}
	if v.kind.name == listKind.name {
		var err error
		if texts, err = csv.NewReader(strings.NewReader(text)).Read(); err != nil && text != "" {
			return errors.New("it must be a list, as A,B")
		}
	}
	if v.given && v.isList() {
		texts = slices.Concat(v.texts, texts)
	}
	is, err := v.read(texts)
	if err != nil {
		return err
	}
	if slices.Contains([]string{"int", "float64", "bool"}, v.kind.name) {
		texts = []string{fmt.Sprint(is)}
	}
	v.texts, v.is, v.given = texts, is, true
	return nil
}

func (v *value) isList() bool {
	return v.kind.name == listKind.name || v.kind.name == repeatedKind.name
}

// Type returns the kind of the value, for pflag.
func (v *value) Type() string { return v.kind.name }

// String returns the value as pflag writes it.
func (v *value) String() string {
	if v.setting == nil || !v.isList() {
		return strings.Join(v.texts, "")
	}
	var b strings.Builder
	row := csv.NewWriter(&b)
	_ = row.Write(v.texts) // to memory
	row.Flush()
	return "[" + strings.TrimSuffix(b.String(), "\n") + "]"
}

// of returns the value of a flag of kt; nil: it is another's, as --help.
func of(f *pflag.Flag) *value {
	v, _ := f.Value.(*value)
	return v
}

// meant returns the texts as they were completed: an address has its port.
func (v *value) meant() []string {
	if all, ok := v.is.([]string); ok {
		return all
	}
	return v.texts
}

// Text returns the value of a flag as it is typed.
func Text(f *pflag.Flag) string {
	if v := of(f); v != nil {
		return strings.Join(v.texts, ",")
	}
	return f.Value.String()
}
