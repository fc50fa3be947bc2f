package stats

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"unsafe"
)

// ScanWindow reads a window as encoding/json writes it, in a tenth of the time. ok is false if only
// encoding/json can read it: a window with events, names with escapes, fields of a later version,
// or no window at all. If both can, they read the same. The window shares no memory with text.
func ScanWindow(text []byte) (w Window, ok bool) {
	s := scanner{text: text}
	if s.fields(windowFields, unsafe.Pointer(&w)); s.bad || len(s.text) > 0 {
		return Window{}, false
	}
	return w, true
}

// scanner reads JSON exactly as encoding/json writes it: the fields of a struct in
// their order, no spaces, no escapes. Other JSON makes it bad, and the caller uses encoding/json,
// which takes ten times as long. A merge may read 100,000 windows.
type scanner struct {
	text []byte // what has not been read
	bad  bool
}

// skip passes over a text, and reports whether it came next.
func (s *scanner) skip(text string) bool {
	if len(s.text) < len(text) || string(s.text[:len(text)]) != text {
		return false
	}
	s.text = s.text[len(text):]
	return true
}

// take passes over a text that has to come next.
func (s *scanner) take(text string) { s.bad = !s.skip(text) || s.bad }

// quoted returns what stands in quotes; escapes in it are not read.
func (s *scanner) quoted() []byte {
	s.take(`"`)
	end := bytes.IndexByte(s.text, '"')
	if s.bad || end < 0 {
		s.bad = true
		return nil
	}
	text := s.text[:end]
	s.text = s.text[end+1:]
	return text
}

// name returns a key of plain ASCII.
func (s *scanner) name() string {
	text := s.quoted()
	s.bad = s.bad || bytes.ContainsFunc(text, func(c rune) bool { return c < ' ' || c > '~' || c == '\\' })
	return string(text)
}

// id returns a key that is a number.
func (s *scanner) id() int32 {
	n, err := strconv.ParseInt(string(s.quoted()), 10, 32)
	s.bad = s.bad || err != nil
	return int32(n)
}

// maxDigits is the number of digits with which any number fits into an int64.
const maxDigits = 18

// number returns a whole number.
func (s *scanner) number() (n int64) {
	negative, digits := s.skip("-"), 0
	for ; digits < min(len(s.text), maxDigits) && s.text[digits]-'0' <= 9; digits++ {
		n = n*10 + int64(s.text[digits]-'0')
	}
	s.bad = s.bad || digits == 0 || digits > 1 && s.text[0] == '0'
	s.text = s.text[digits:]
	if negative {
		return -n
	}
	return n
}

// fields reads a struct of these fields.
func (s *scanner) fields(all fields, p unsafe.Pointer) {
	s.take("{")
	comma := 1 // none before the first
	for i := range all {
		f := &all[i]
		if s.bad || !s.skip(f.key[comma:]) {
			continue
		}
		comma = 0
		switch f.kind {
		case warmup: // one that is false is not written
			s.take("true")
			*at[bool](p, f) = true
		case encoded:
			s.base64(at[[]byte](p, f))
		case buckets:
			s.bad = at[Buckets](p, f).UnmarshalText(s.quoted()) != nil || s.bad
		case histogram:
			s.histogram(at[Histogram](p, f))
		case counts:
			scanMap(s, at[map[string]int64](p, f), s.name, func(n *int64) { *n = s.number() })
		case gap, group:
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
	s.take("}")
}

// scanMap reads a map, by functions that read a key and a value.
func scanMap[K comparable, V any](s *scanner, to *map[K]V, key func() K, value func(*V)) {
	*to = make(map[K]V)
	s.take("{")
	var v, none V
	for first := true; !s.bad && !s.skip("}"); first = false {
		if !first {
			s.take(",")
		}
		k := key()
		s.take(":")
		v = none
		value(&v)
		(*to)[k] = v
	}
}

// base64 reads bytes in base64.
func (s *scanner) base64(to *[]byte) {
	text := s.quoted()
	if len(text) > maxEncoded {
		s.bad = true
		return
	}
	b := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(b, text)
	s.bad = s.bad || err != nil || base64.StdEncoding.EncodedLen(n) != len(text) // line ends are passed over
	*to = b[:n]
}

// histogram reads a histogram that makes sense.
func (s *scanner) histogram(h *Histogram) {
	var j histogramJSON
	if s.fields(histogramFields, unsafe.Pointer(&j)); s.bad {
		return
	}
	var err error
	*h, err = j.histogram()
	s.bad = err != nil
}
