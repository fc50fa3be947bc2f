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

// dateLayouts write the parts of a time, by SimpleDateFormat's letters and how many there are; the last is for more.
var dateLayouts = map[byte][]string{
	'G': {"AD"}, 'y': {"2006", "06", "2006"}, 'M': {"1", "1", "Jan", "January"}, 'd': {"2"}, 'E': {"Mon", "Mon", "Mon", "Monday"}, 'a': {"PM"},
	'H': {"15"}, 'h': {"3"}, 'm': {"4"}, 's': {"5"}, 'z': {"MST"}, 'Z': {"-0700"}, 'X': {"Z07", "Z0700", "Z07:00"},
}

// dateNumbers are the numbers of which Go has no layout.
var dateNumbers = map[byte]func(t time.Time) int{
	'D': time.Time.YearDay,
	'u': func(t time.Time) int { return (int(t.Weekday())+6)%7 + 1 },
	'k': func(t time.Time) int { return (t.Hour()+23)%24 + 1 },
	'K': func(t time.Time) int { return t.Hour() % 12 },
	'S': func(t time.Time) int { return t.Nanosecond() / 1e6 },
}

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
		case dateLayouts[c] == nil && dateNumbers[c] == nil && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'):
			return DateFormat{}, fmt.Errorf("%q: the letter %c is not known; put text in quotes: 'text'", pattern, c)
		}
	}
	return f, nil
}

// Format writes a time, in the time's own zone. A number has at least so many digits as there are letters.
func (f DateFormat) Format(t time.Time) string {
	if f.parts == nil {
		f.parts = datePart.FindAllString("yyyy-MM-dd HH:mm:ss:SSS", -1)
	}
	var b strings.Builder
	for _, part := range f.parts {
		value, c := part, part[0]
		if layouts, number := dateLayouts[c], dateNumbers[c]; c == '\'' {
			value = strings.ReplaceAll(part[1:len(part)-1], "''", "'")
		} else if layouts != nil {
			value = t.Format(layouts[min(len(part), len(layouts))-1])
		} else if number != nil {
			value = strconv.Itoa(number(t))
		}
		if n, err := strconv.Atoi(value); err == nil && c >= 'A' && c != 'Z' && c != 'X' {
			value = fmt.Sprintf("%0*d", len(part), n)
		}
		b.WriteString(value)
	}
	return b.String()
}
