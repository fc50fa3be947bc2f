package stats

import (
	"bytes"
	"encoding/base64"
)

// scanner reads JSON exactly as encoding/json writes it: the fields of a struct in
// their order, no spaces, no escapes. Other JSON makes it bad, and the caller uses encoding/json,
// which takes ten times as long. A merge may read 100,000 windows.
type scanner struct {
	text  []byte
	at    int
	fresh bool // nothing of the current object was read
	bad   bool
}

// done reports whether all of the text was read.
func (s *scanner) done() bool { return !s.bad && s.at == len(s.text) }

// open enters an object.
func (s *scanner) open() {
	s.take('{')
	s.fresh = true
}

// end leaves an object.
func (s *scanner) end() {
	s.take('}')
	s.fresh = false
}

func (s *scanner) take(c byte) {
	if s.at >= len(s.text) || s.text[s.at] != c {
		s.bad = true
		return
	}
	s.at++
}

// comma skips the separator of two fields, and reports whether there is another field.
func (s *scanner) comma() bool {
	switch {
	case s.bad || s.at >= len(s.text) || s.text[s.at] == '}':
		return false
	case s.fresh:
		s.fresh = false
	default:
		s.take(',')
	}
	return !s.bad
}

// field reports whether the field of this name comes next, and goes to its value. name
// is in quotes, with a colon.
func (s *scanner) field(name string) bool {
	at := s.at
	if !s.fresh {
		at++
	}
	if s.bad || at+len(name) > len(s.text) || string(s.text[at:at+len(name)]) != name || !s.comma() {
		return false
	}
	s.at += len(name)
	return true
}

// key goes to the value of the next entry of a map and returns its key, or false if there is none.
func (s *scanner) key() (string, bool) {
	if !s.comma() {
		return "", false
	}
	key := string(s.quoted())
	s.take(':')
	return key, !s.bad
}

// id is key for a map with numbers from 0 as keys.
func (s *scanner) id() (int32, bool) {
	if !s.comma() {
		return 0, false
	}
	s.take('"')
	n := s.number()
	s.take('"')
	s.take(':')
	if int64(int32(n)) != n {
		s.bad = true
	}
	return int32(n), !s.bad
}

// quoted returns a string of plain ASCII.
func (s *scanner) quoted() []byte {
	s.take('"')
	from := s.at
	for s.at < len(s.text) && s.text[s.at] != '"' {
		if c := s.text[s.at]; c < ' ' || c > '~' || c == '\\' {
			s.bad = true
		}
		s.at++
	}
	text := s.text[from:s.at]
	s.take('"')
	return text
}

// maxDigits is the number of digits with which any number fits into an int64.
const maxDigits = 18

// number returns a whole number.
func (s *scanner) number() int64 {
	negative := s.at < len(s.text) && s.text[s.at] == '-'
	if negative {
		s.at++
	}
	from, n := s.at, int64(0)
	for s.at < len(s.text) && s.text[s.at]-'0' <= 9 && s.at-from < maxDigits {
		n = n*10 + int64(s.text[s.at]-'0')
		s.at++
	}
	if digits := s.at - from; digits == 0 || digits > 1 && s.text[from] == '0' {
		s.bad = true
	}
	if negative {
		return -n
	}
	return n
}

// integer reads a field.
func integer[T ~int64](s *scanner, name string, to *T) {
	if s.field(name) {
		*to = T(s.number())
	}
}

// flag reads a field that is true, for a false one is not written.
func (s *scanner) flag(name string, to *bool) {
	if s.field(name) {
		const yes = "true"
		*to = bytes.HasPrefix(s.text[s.at:], []byte(yes))
		s.bad = s.bad || !*to
		s.at += len(yes)
	}
}

// counts reads a field of counts by name.
func (s *scanner) counts(name string, to *map[string]int64) {
	if !s.field(name) {
		return
	}
	*to = make(map[string]int64)
	s.open()
	for key, ok := s.key(); ok; key, ok = s.key() {
		(*to)[key] = s.number()
	}
	s.end()
}

// bytes reads a field of bytes in base64.
func (s *scanner) bytes(name string, to *packed) {
	if !s.field(name) {
		return
	}
	s.take('"')
	length := -1
	if !s.bad {
		length = bytes.IndexByte(s.text[s.at:], '"')
	}
	if length < 0 || length > maxEncoded {
		s.bad = true
		return
	}
	text := s.text[s.at : s.at+length]
	b := make([]byte, base64.StdEncoding.DecodedLen(length))
	n, err := base64.StdEncoding.Decode(b, text)
	if err != nil || base64.StdEncoding.EncodedLen(n) != length { // line ends are passed over
		s.bad = true
	}
	*to = b[:n]
	s.at += length + 1
}

// histogram reads a histogram that makes sense.
func (s *scanner) histogram(h *Histogram) {
	var j histogramJSON
	s.open()
	s.bytes(`"counts":`, (*packed)(&j.Counts))
	integer(s, `"sum_us":`, &j.Sum)
	integer(s, `"min_us":`, &j.Min)
	integer(s, `"max_us":`, &j.Max)
	integer(s, `"out_of_range":`, &j.OutOfRange)
	integer(s, `"unserved":`, &j.Unserved)
	s.end()
	if s.bad {
		return
	}
	var err error
	*h, err = j.histogram()
	s.bad = err != nil
}
