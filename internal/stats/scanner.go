package stats

import (
	"bytes"
	"encoding/base64"
	"unsafe"
)

// ScanWindow reads a window as encoding/json writes it, in a tenth of the time. ok is false if only
// encoding/json can read it: a window with events, names with escapes, fields of a later version,
// or no window at all. If both can, they read the same. The window shares no memory with text.
func ScanWindow(text []byte) (w Window, ok bool) {
	s := scanner{text: text}
	s.fields(windowFields, unsafe.Pointer(&w))
	if !s.done() {
		return Window{}, false
	}
	return w, true
}

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

// fields reads a struct of these fields.
func (s *scanner) fields(all fields, p unsafe.Pointer) {
	s.open()
	for i := range all {
		f := &all[i]
		if !s.field(f.name) {
			continue
		}
		switch f.kind {
		case warmup:
			*at[bool](p, f) = s.yes()
		case gap:
			g := at[Gap](p, f)
			s.open()
			integer(s, `"from_ns":`, &g.From)
			integer(s, `"length_ns":`, &g.Length)
			s.end()
		case buckets:
			s.bad = at[Buckets](p, f).UnmarshalText(s.quoted()) != nil || s.bad
		case histogram:
			s.histogram(at[Histogram](p, f))
		case counts:
			scanMap(s, at[map[string]int64](p, f), s.key, func(n *int64) { *n = s.number() })
		case group:
			s.fields(f.rows, unsafe.Add(p, f.offset))
		case partitions:
			scanMap(s, at[map[int32]Partition](p, f), s.id, func(row *Partition) { s.fields(f.rows, unsafe.Pointer(row)) })
		case brokers:
			scanMap(s, at[map[int32]Broker](p, f), s.id, func(row *Broker) { s.fields(f.rows, unsafe.Pointer(row)) })
		case events:
			s.bad = true
		default:
			*at[int64](p, f) = s.number()
		}
	}
	s.end()
}

// scanMap reads a map, by functions that read a key and a value.
func scanMap[K comparable, V any](s *scanner, to *map[K]V, key func() (K, bool), value func(*V)) {
	*to = make(map[K]V)
	s.open()
	var v, none V
	for k, ok := key(); ok; k, ok = key() {
		v = none
		value(&v)
		(*to)[k] = v
	}
	s.end()
}

// integer reads a field.
func integer[T ~int64](s *scanner, name string, to *T) {
	if s.field(name) {
		*to = T(s.number())
	}
}

// yes reads true, for a flag that is false is not written.
func (s *scanner) yes() bool {
	const yes = "true"
	s.bad = s.bad || !bytes.HasPrefix(s.text[s.at:], []byte(yes))
	s.at += len(yes)
	return !s.bad
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
