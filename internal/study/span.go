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

// searchPrefix and finePrefix begin the values of --set that are a span: search:1..64,fine:2.
const (
	searchPrefix = "search:"
	finePrefix   = "fine:"
)

// parseSpan reads what stands after search: and fine:.
func parseSpan(search, fine string) *Span {
	from, to, _ := strings.Cut(search, "..")
	return &Span{strings.TrimSpace(from), strings.TrimSpace(to), fine}
}

// spanOf returns the span that the values of --set are; nil: they are values.
func spanOf(values []string) *Span {
	search, ok := strings.CutPrefix(values[0], searchPrefix)
	if !ok {
		return nil
	}
	return parseSpan(search, strings.TrimPrefix(strings.Join(values[1:], ","), finePrefix))
}

// String returns the span as it is written in a study's file.
func (s *Span) String() string {
	text := s.From + ".." + s.To
	if s.Fine != "" {
		text += ", fine " + s.Fine
	}
	return text
}

// isOpen reports whether a bound depends on what is given.
func (s *Span) isOpen() bool { return open.MatchString(s.From) || open.MatchString(s.To) }

// quantity is a whole number of something.
type quantity struct {
	n    int64
	unit int64 // in which it is written: 1024 for 4KiB
	kind string
}

// The kinds of quantities.
const (
	number   = "number"
	byteSize = "size"
	duration = "time"
)

var quantityForm = regexp.MustCompile(`^([0-9][0-9.,_]*)\s*([A-Za-zµ]*)$`)

func parseQuantity(text string) (quantity, error) {
	parts := quantityForm.FindStringSubmatch(text)
	if parts == nil {
		return quantity{}, fmt.Errorf("%q is no whole number, size or time: write 64, 4KiB or 5ms", text)
	}
	read, kind := plan.ParseCount, number
	if d, err := plan.ParseDuration("1" + parts[2]); err == nil && d > 0 {
		read, kind = func(s string) (int64, error) { d, err := plan.ParseDuration(s); return int64(d), err }, duration
	} else if strings.HasSuffix(strings.ToUpper(parts[2]), "B") {
		read, kind = plan.ParseVolume, byteSize
	}
	n, err := read(parts[1] + parts[2])
	unit, _ := read("1" + parts[2])
	if err != nil {
		return quantity{}, fmt.Errorf("%q: %w", text, err)
	}
	return quantity{n, unit, kind}, nil
}

// String returns the quantity as flags take it.
func (q quantity) String() string {
	switch q.kind {
	case byteSize:
		for _, unit := range []string{"GiB", "MiB", "KiB"} {
			if size, _ := plan.ParseVolume("1" + unit); q.n%size == 0 {
				return strconv.FormatInt(q.n/size, 10) + unit
			}
		}
		return strconv.FormatInt(q.n, 10) + "B"
	case duration:
		return time.Duration(q.n).String()
	}
	return strconv.FormatInt(q.n, 10)
}

// steps is a span in numbers: a value is from, or more by some steps of fine.
type steps struct {
	from, to quantity
	fine     int64
}

func (s *Span) steps() (steps, error) {
	from, err := parseQuantity(s.From)
	if err != nil {
		return steps{}, err
	}
	to, err := parseQuantity(s.To)
	switch {
	case err != nil:
		return steps{}, err
	case from.kind != to.kind:
		return steps{}, fmt.Errorf("%s is a %s and %s a %s: write both in one unit", s.From, from.kind, s.To, to.kind)
	case from.n < 1 || to.n <= from.n:
		return steps{}, fmt.Errorf("%s..%s: it must go from 1 or more to more, because the first steps double it", s.From, s.To)
	}
	found := steps{from, to, from.unit}
	if s.Fine == "" {
		return found, nil
	}
	fine, err := parseQuantity(s.Fine)
	switch {
	case err != nil:
		return steps{}, fmt.Errorf("fine %w", err)
	case fine.kind == number:
		fine.n *= from.unit
	case fine.kind != from.kind:
		return steps{}, fmt.Errorf("fine %s is a %s and %s a %s: write both in one unit", s.Fine, fine.kind, s.From, from.kind)
	}
	if found.fine = fine.n; fine.n < 1 {
		return steps{}, fmt.Errorf("fine %s: it must be above 0", s.Fine)
	}
	return found, nil
}

// coarse returns the first values: each twice the one before, up to the last.
func (s steps) coarse() (values []string) {
	for q := s.from; q.n < s.to.n; q.n *= 2 {
		values = append(values, q.String())
		if q.n > s.to.n/2 {
			break
		}
	}
	return append(values, s.to.String())
}

// between returns the value in the middle of two; ok is false if they are too close for another step.
func (s steps) between(a, b int64) (value quantity, ok bool) {
	half := (b - a) / 2 / s.fine * s.fine
	return quantity{a + half, 1, s.from.kind}, half > 0
}
