package properties

import (
	"bytes"
	"fmt"
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

// logicalLines takes a file apart into lines as Java counts them: a backslash at the end joins the next line, and
// comments and empty lines are left out.
type logicalLines struct {
	data []byte
	at   int
	line int // of at
}

// next returns a line, and the number of its first one in the file.
func (l *logicalLines) next() (text []byte, line int, ok bool) {
	for l.at < len(l.data) {
		start := l.line
		natural := bytes.TrimLeft(l.natural(), blanks)
		if len(text) == 0 {
			if len(natural) > 0 && (natural[0] == '#' || natural[0] == '!') || len(natural) == 0 {
				continue
			}
			line = start
		}
		text = append(text, natural...)
		if !endsInEscape(natural) {
			return text, line, true
		}
		text = text[:len(text)-1]
	}
	return text, line, len(text) > 0 // of a last line that is a backslash alone, Java makes a property without a name
}

// natural returns the bytes up to the end of a line in the file: \n, \r or \r\n.
func (l *logicalLines) natural() []byte {
	start := l.at
	for l.at < len(l.data) {
		c := l.data[l.at]
		l.at++
		if c != '\n' && c != '\r' {
			continue
		}
		end := l.at - 1
		if c == '\r' && l.at < len(l.data) && l.data[l.at] == '\n' {
			l.at++
		}
		l.line++
		return l.data[start:end]
	}
	return l.data[start:]
}

const blanks = " \t\f"

// endsInEscape reports whether a line ends in an odd number of backslashes.
func endsInEscape(line []byte) bool {
	n := len(line)
	for n > 0 && line[n-1] == '\\' {
		n--
	}
	return (len(line)-n)%2 == 1
}

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
