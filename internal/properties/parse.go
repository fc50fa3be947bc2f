package properties

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Property is an entry of a Java properties file.
type Property struct {
	Key, Value string
	Line       int // on which it begins
}

// Parse reads a file as java.util.Properties.load does: its bytes are Latin-1, and ${…} means nothing. A
// property that is given twice is there twice; Java takes the last one.
func Parse(data []byte) ([]Property, error) {
	var list []Property
	l := logicalLines{data: data, line: 1}
	for {
		text, line, ok := l.next()
		if !ok {
			return list, nil
		}
		key, value := splitLine(text)
		p := Property{Line: line}
		var err error
		if p.Key, err = unescape(key); err == nil {
			p.Value, err = unescape(value)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		list = append(list, p)
	}
}

// logicalLines takes a file apart into lines as Java counts them, without comments and empty lines.
type logicalLines struct {
	data []byte // that is left
	line int    // at its begin
}

// next returns a line, and the number of its first one in the file.
func (l *logicalLines) next() (text []byte, line int, ok bool) {
	for len(l.data) > 0 {
		start, natural := l.line, l.data
		l.data = nil
		if end := bytes.IndexAny(natural, "\r\n"); end >= 0 { // \n, \r or \r\n
			l.data = natural[end+1:]
			if natural[end] == '\r' {
				l.data = bytes.TrimPrefix(l.data, []byte("\n"))
			}
			natural = natural[:end]
			l.line++
		}
		natural = bytes.TrimLeft(natural, blanks)
		if len(text) == 0 {
			if len(natural) > 0 && (natural[0] == '#' || natural[0] == '!') || len(natural) == 0 {
				continue
			}
			line = start
		}
		text = append(text, natural...)
		if escapes := len(natural) - len(bytes.TrimRight(natural, `\`)); escapes%2 == 0 {
			return text, line, true
		}
		text = text[:len(text)-1]
	}
	return text, line, len(text) > 0 // of a last line that is a backslash alone, Java makes a property without a name
}

const blanks = " \t\f"

// splitLine cuts a line at the first =, : or blank that no backslash escapes.
func splitLine(line []byte) (key, value []byte) {
	end := 0
	for ; end < len(line) && !strings.ContainsRune("=:"+blanks, rune(line[end])); end++ {
		if line[end] == '\\' {
			end++
		}
	}
	end = min(end, len(line))
	rest := strings.TrimLeft(string(line[end:]), blanks)
	if rest != "" && (rest[0] == '=' || rest[0] == ':') {
		rest = strings.TrimLeft(rest[1:], blanks)
	}
	return line[:end], []byte(rest)
}

// unescape returns Latin-1 text without its backslashes.
func unescape(text []byte) (string, error) {
	units := make([]uint16, 0, len(text)) // as Java has them: two make up a character beyond U+FFFF
	for i := 0; i < len(text); i++ {
		c := uint16(text[i])
		if c == '\\' && i+1 < len(text) {
			i++
			switch c = uint16(text[i]); c {
			case 't':
				c = '\t'
			case 'n':
				c = '\n'
			case 'r':
				c = '\r'
			case 'f':
				c = '\f'
			case 'u':
				digits := string(text[i+1 : min(len(text), i+5)])
				n, err := strconv.ParseUint(digits, 16, 16)
				if err != nil || len(digits) != 4 {
					return "", fmt.Errorf(`\u%s is no character: write \u and four hexadecimal digits, or \\u for a backslash`, digits)
				}
				c = uint16(n)
				i += 4
			}
		}
		units = append(units, c)
	}
	return string(utf16.Decode(units)), nil
}

// Stray is a line that is no property. Mostly it is the rest of a value whose line does not end in a backslash, so what
// stands in it may be secret.
type Stray struct {
	Line int
	Of   string // the property with the beginning of a PEM text; "": none
}

// Problem returns what is wrong and what to do. It shows nothing of the line.
func (s Stray) Problem() string {
	if s.Of != "" {
		return fmt.Sprintf(`the PEM text of %s goes on here without a line continuation: end each of its lines but the last with \n\`, s.Of)
	}
	return "this line is not NAME=VALUE: end the line before it with a backslash if it goes on here"
}

// Whole separates properties from stray lines. Of stray lines that follow each other it returns the first.
func Whole(list []Property) (whole []Property, stray []Stray) {
	pem, follows := "", false // pem: the property with a PEM text that has no end yet
	for _, p := range list {
		if dotted.MatchString(p.Key) || pem == "" && IsName(p.Key) && p.Value != "" {
			whole, pem, follows = append(whole, p), "", false
			if strings.LastIndex(p.Value, "-----BEGIN ") > strings.LastIndex(p.Value, "-----END ") {
				pem = p.Key
			}
			continue
		}
		if !follows {
			stray = append(stray, Stray{p.Line, pem})
		}
		follows = true
		if strings.HasPrefix(p.Key, "-----END") {
			pem = ""
		}
	}
	return whole, stray
}

// No name of Kafka's has a word of 24 characters, while a line of PEM text, a token or a password often has.
var (
	dotted = regexp.MustCompile(`^[A-Za-z][\w-]{0,23}(\.[\w-]{1,24})+$`)
	word   = regexp.MustCompile(`^[A-Za-z]{1,24}([_-][A-Za-z]{1,24})*$`)
)

// IsName reports whether a text has the form of the name of a property, so that an error may show it: words with dots, or
// letters alone.
func IsName(text string) bool { return dotted.MatchString(text) || word.MatchString(text) }
