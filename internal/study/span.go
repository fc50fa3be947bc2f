package study

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/plan"
)

// Span is the whole of the values among which a study searches for the best: {search: 1..64, fine: 1}.
type Span struct {
	From string `json:"from"` // a whole number, a size (4KiB) or a time (5ms)
	To   string `json:"to"`
	Fine string `json:"fine,omitempty"` // the smallest step; "": that of one, until the best cannot be told from its neighbours
}

// parseSpan reads what stands after search: and fine:.
func parseSpan(search, fine string) *Span {
	from, to, _ := strings.Cut(search, "..")
	return &Span{strings.TrimSpace(from), strings.TrimSpace(to), fine}
}

// spanOf returns the span that the values of --set are, as search:1..64,fine:2; nil: they are values.
func spanOf(values []string) *Span {
	search, ok := strings.CutPrefix(values[0], "search:")
	if !ok {
		return nil
	}
	return parseSpan(search, strings.TrimPrefix(strings.Join(values[1:], ","), "fine:"))
}

// String returns the span as it is written in a study's file.
func (s *Span) String() string {
	return strings.TrimSuffix(s.From+".."+s.To+", fine "+s.Fine, ", fine ")
}

// isOpen reports whether a bound depends on what is given.
func (s *Span) isOpen() bool { return open.MatchString(s.From) || open.MatchString(s.To) }

// quantity is a whole number of something.
type quantity struct {
	n    int64
	unit int64 // in which it is written: 1024 for 4KiB
	kind *kind
}

// kind is a kind of quantities.
type kind struct {
	name  string
	read  func(string) (int64, error)
	write func(int64) string // as flags take it
}

var (
	byTime   = &kind{"time", func(s string) (int64, error) { d, err := plan.ParseDuration(s); return int64(d), err }, func(n int64) string { return time.Duration(n).String() }}
	bySize   = &kind{"size", plan.ParseVolume, writeSize}
	byNumber = &kind{"number", plan.ParseCount, func(n int64) string { return strconv.FormatInt(n, 10) }}
)

func writeSize(n int64) string {
	unit := 0
	for unit < 3 && n%1024 == 0 {
		n, unit = n/1024, unit+1
	}
	return strconv.FormatInt(n, 10) + []string{"B", "KiB", "MiB", "GiB"}[unit]
}

var quantityForm = regexp.MustCompile(`^([0-9][0-9.,_]*)\s*([A-Za-zµ]*)$`)

func parseQuantity(text string) (quantity, error) {
	parts := quantityForm.FindStringSubmatch(text)
	if parts == nil {
		return quantity{}, fmt.Errorf("%q is no whole number, size or time: write 64, 4KiB or 5ms", text)
	}
	of := byNumber
	if d, err := byTime.read("1" + parts[2]); err == nil && d > 0 {
		of = byTime
	} else if strings.HasSuffix(strings.ToUpper(parts[2]), "B") {
		of = bySize
	}
	n, err := of.read(parts[1] + parts[2])
	if err != nil {
		return quantity{}, fmt.Errorf("%q: %w", text, err)
	}
	unit, _ := of.read("1" + parts[2])
	return quantity{n, unit, of}, nil
}

// amount returns the number that a value of a searched factor is; 0: it is none.
func amount(value string) int64 {
	q, _ := parseQuantity(value)
	return q.n
}

// steps is a span in numbers: a value is from, or more by some steps of fine.
type steps struct {
	from, to, fine int64
	kind           *kind
}

func (s *Span) steps() (found steps, err error) {
	var all [3]quantity
	for i, text := range []string{s.From, s.To, s.Fine} {
		if i == 2 && text == "" {
			all[i] = quantity{all[0].unit, 1, all[0].kind}
		} else if all[i], err = parseQuantity(text); err != nil {
			return found, err
		}
	}
	from, to, fine := all[0], all[1], all[2]
	if fine.kind == byNumber {
		fine.n, fine.kind = fine.n*from.unit, from.kind
	}
	switch {
	case from.kind != to.kind:
		return found, fmt.Errorf("%s is a %s and %s a %s: write both in one unit", s.From, from.kind.name, s.To, to.kind.name)
	case from.n < 1 || to.n <= from.n:
		return found, fmt.Errorf("%s..%s: it must go from 1 or more to more, because the first steps double it", s.From, s.To)
	case fine.kind != from.kind:
		return found, fmt.Errorf("fine %s is a %s and %s a %s: write both in one unit", s.Fine, fine.kind.name, s.From, from.kind.name)
	case fine.n < 1:
		return found, fmt.Errorf("fine %s: it must be above 0", s.Fine)
	}
	return steps{from.n, to.n, fine.n, from.kind}, nil
}

// coarse returns the first values: each twice the one before, up to the last.
func (s steps) coarse() (values []string) {
	for n := s.from; n < s.to; n *= 2 {
		values = append(values, s.kind.write(n))
		if n > s.to/2 {
			break
		}
	}
	return append(values, s.kind.write(s.to))
}

// between returns the values in the middle of neighbours that are far enough apart for another step.
func (s steps) between(values ...int64) (middle []string) {
	for i := 1; i < len(values); i++ {
		if half := (values[i] - values[i-1]) / 2 / s.fine * s.fine; half > 0 {
			middle = append(middle, s.kind.write(values[i-1]+half))
		}
	}
	return middle
}
