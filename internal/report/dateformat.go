package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// DateFormat writes times by a pattern of Java's SimpleDateFormat, in English. The
// zero value is that of kafka-consumer-perf-test, yyyy-MM-dd HH:mm:ss:SSS.
type DateFormat struct{ fields []dateField }

// dateField is a run of one letter, or text as it stands.
type dateField struct {
	letter byte // 0: text
	count  int
	text   string
}

// ParseDateFormat reads a pattern. Text between single quotes stands as it is; two of
// them next to each other are one quote.
func ParseDateFormat(pattern string) (DateFormat, error) {
	f := DateFormat{fields: []dateField{}}
	for i := 0; i < len(pattern); {
		c := pattern[i]
		switch {
		case c == '\'':
			text, n, ok := quoted(pattern[i:])
			if !ok {
				return DateFormat{}, fmt.Errorf("%q: a quote has no end", pattern)
			}
			f.fields = append(f.fields, dateField{text: text})
			i += n
		case dateLetters[c] != nil:
			n := len(pattern[i:]) - len(strings.TrimLeft(pattern[i:], string(c)))
			f.fields = append(f.fields, dateField{letter: c, count: n})
			i += n
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			return DateFormat{}, fmt.Errorf("%q: the letter %c is not known; put text in quotes: 'text'", pattern, c)
		default:
			f.fields = append(f.fields, dateField{text: pattern[i : i+1]})
			i++
		}
	}
	return f, nil
}

// quoted returns the text at the start of a pattern that begins with a quote, and how
// many bytes it takes there.
func quoted(pattern string) (text string, n int, ok bool) {
	if strings.HasPrefix(pattern, "''") {
		return "'", 2, true
	}
	var b strings.Builder
	for i := 1; i < len(pattern); i++ {
		if pattern[i] != '\'' {
			b.WriteByte(pattern[i])
			continue
		}
		if i+1 == len(pattern) || pattern[i+1] != '\'' {
			return b.String(), i + 1, true
		}
		b.WriteByte('\'') // doubled inside quotes
		i++
	}
	return "", 0, false
}

// Format writes a time, in the time's own zone.
func (f DateFormat) Format(t time.Time) string {
	if f.fields == nil {
		return t.Format("2006-01-02 15:04:05:") + padded(t.Nanosecond()/1e6, 3)
	}
	var b strings.Builder
	for _, p := range f.fields {
		if p.letter == 0 {
			b.WriteString(p.text)
			continue
		}
		b.WriteString(dateLetters[p.letter](t, p.count))
	}
	return b.String()
}

// dateLetters write the parts of a time, by SimpleDateFormat's letters: a number to
// at least so many digits as there are letters, or a name, whole from four letters on.
var dateLetters = map[byte]func(t time.Time, count int) string{
	'G': func(time.Time, int) string { return "AD" },
	'y': year,
	'M': func(t time.Time, n int) string {
		if n >= 3 {
			return name(t, n, "Jan", "January")
		}
		return padded(int(t.Month()), n)
	},
	'D': func(t time.Time, n int) string { return padded(t.YearDay(), n) },
	'd': func(t time.Time, n int) string { return padded(t.Day(), n) },
	'E': func(t time.Time, n int) string { return name(t, n, "Mon", "Monday") },
	'u': func(t time.Time, n int) string { return padded((int(t.Weekday())+6)%7+1, n) },
	'a': func(t time.Time, _ int) string { return t.Format("PM") },
	'H': func(t time.Time, n int) string { return padded(t.Hour(), n) },
	'k': func(t time.Time, n int) string { return padded((t.Hour()+23)%24+1, n) },
	'K': func(t time.Time, n int) string { return padded(t.Hour()%12, n) },
	'h': func(t time.Time, n int) string { return padded((t.Hour()+11)%12+1, n) },
	'm': func(t time.Time, n int) string { return padded(t.Minute(), n) },
	's': func(t time.Time, n int) string { return padded(t.Second(), n) },
	'S': func(t time.Time, n int) string { return padded(t.Nanosecond()/1e6, n) },
	'z': func(t time.Time, _ int) string { return t.Format("MST") },
	'Z': func(t time.Time, _ int) string { return t.Format("-0700") },
	'X': func(t time.Time, n int) string { return t.Format([]string{"Z07", "Z0700", "Z07:00"}[min(n, 3)-1]) },
}

func year(t time.Time, count int) string {
	if count == 2 {
		return padded(t.Year()%100, 2)
	}
	return padded(t.Year(), count)
}

func name(t time.Time, count int, short, whole string) string {
	if count >= 4 {
		return t.Format(whole)
	}
	return t.Format(short)
}

func padded(n, digits int) string {
	s := strconv.Itoa(n)
	return strings.Repeat("0", max(0, digits-len(s))) + s
}
