package report

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// DateFormat writes times by a pattern of Java's SimpleDateFormat, in English. The
// zero value is that of kafka-consumer-perf-test, yyyy-MM-dd HH:mm:ss:SSS.
type DateFormat struct{ parts []string }

// datePart is text in quotes, a run of one letter, or another character.
var datePart = regexp.MustCompile(`'(?:[^']|'')*'|G+|y+|M+|D+|d+|E+|u+|a+|H+|k+|K+|h+|m+|s+|S+|z+|Z+|X+|(?s:.)`)

// ParseDateFormat reads a pattern. Text between single quotes stands as it is; two of
// them next to each other are one quote.
func ParseDateFormat(pattern string) (DateFormat, error) {
	f := DateFormat{append([]string{}, datePart.FindAllString(pattern, -1)...)}
	for i, part := range f.parts {
		switch c := part[0]; {
		case part == "'":
			return DateFormat{}, fmt.Errorf("%q: a quote has no end", pattern)
		case part == "''":
			f.parts[i] = "''''"
		case c != '\'' && dateLetters[c] == nil && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'):
			return DateFormat{}, fmt.Errorf("%q: the letter %c is not known; put text in quotes: 'text'", pattern, c)
		}
	}
	return f, nil
}

// Format writes a time, in the time's own zone.
func (f DateFormat) Format(t time.Time) string {
	if f.parts == nil {
		f.parts = datePart.FindAllString("yyyy-MM-dd HH:mm:ss:SSS", -1)
	}
	var b strings.Builder
	for _, part := range f.parts {
		write := dateLetters[part[0]]
		switch {
		case part[0] == '\'':
			b.WriteString(strings.ReplaceAll(part[1:len(part)-1], "''", "'"))
		case write == nil:
			b.WriteString(part)
		default:
			value := write(t, len(part))
			if n, err := strconv.Atoi(value); err == nil && part[0] != 'Z' && part[0] != 'X' {
				value = fmt.Sprintf("%0*d", len(part), n)
			}
			b.WriteString(value)
		}
	}
	return b.String()
}

// dateLetters write the parts of a time, by SimpleDateFormat's letters. A number has at least so many digits as there are letters, and a
// name is whole from four letters on.
var dateLetters = map[byte]func(t time.Time, count int) string{
	'G': func(time.Time, int) string { return "AD" },
	'y': func(t time.Time, n int) string {
		if n == 2 {
			return t.Format("06")
		}
		return t.Format("2006")
	},
	'M': func(t time.Time, n int) string { return t.Format([]string{"1", "1", "Jan", "January"}[min(n, 4)-1]) },
	'D': func(t time.Time, _ int) string { return strconv.Itoa(t.YearDay()) },
	'd': layout("2"),
	'E': func(t time.Time, n int) string { return t.Format([]string{"Mon", "Mon", "Mon", "Monday"}[min(n, 4)-1]) },
	'u': func(t time.Time, _ int) string { return strconv.Itoa((int(t.Weekday())+6)%7 + 1) },
	'a': layout("PM"),
	'H': layout("15"),
	'k': func(t time.Time, _ int) string { return strconv.Itoa((t.Hour()+23)%24 + 1) },
	'K': func(t time.Time, _ int) string { return strconv.Itoa(t.Hour() % 12) },
	'h': layout("3"),
	'm': layout("4"),
	's': layout("5"),
	'S': func(t time.Time, _ int) string { return strconv.Itoa(t.Nanosecond() / 1e6) },
	'z': layout("MST"),
	'Z': layout("-0700"),
	'X': func(t time.Time, n int) string { return t.Format([]string{"Z07", "Z0700", "Z07:00"}[min(n, 3)-1]) },
}

func layout(of string) func(time.Time, int) string {
	return func(t time.Time, _ int) string { return t.Format(of) }
}
