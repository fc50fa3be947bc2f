package stats

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"unsafe"
)

// ScannerOf returns a function that reads a struct, such as a Window, as encoding/json writes it, in a tenth of the time. ok is
// false if only encoding/json can read it: one with events, names with escapes, fields of a later version, or something else. If
// both can, they read the same. The struct shares no memory with text.
func ScannerOf[T any]() func(text []byte) (v T, ok bool) {
	all := fieldsOf(reflect.TypeFor[T]())
	return func(text []byte) (v T, ok bool) {
		s := scanner{text: text}
		if s.fields(all, unsafe.Pointer(&v)); s.bad || len(s.text) > 0 {
			return *new(T), false
		}
		return v, true
	}
}

// scanner reads JSON as encoding/json writes it, without escapes. Other JSON makes it bad, and the caller uses encoding/json.
type scanner struct {
	text []byte // what has not been read
	bad  bool
	room []byte // for what is decoded
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

func (s *scanner) name() string {
	text := s.quoted()
	s.bad = s.bad || bytes.ContainsFunc(text, func(c rune) bool { return c < ' ' || c > '~' || c == '\\' })
	return string(text)
}

func (s *scanner) id() int32 {
	n, err := strconv.ParseInt(string(s.quoted()), 10, 32)
	s.bad = s.bad || err != nil
	return int32(n)
}

// maxDigits is the number of digits with which any number fits into an int64.
const maxDigits = 18

func (s *scanner) number() (n int64) {
	sign, digits := int64(1), 0
	if s.skip("-") {
		sign = -1
	}
	for ; digits < min(len(s.text), maxDigits) && s.text[digits]-'0' <= 9; digits++ {
		n = n*10 + int64(s.text[digits]-'0')
	}
	s.bad = s.bad || digits == 0 || digits > 1 && s.text[0] == '0'
	s.text = s.text[digits:]
	return sign * n
}

// float returns a number that may have a fraction, and no exponent.
func (s *scanner) float() float64 {
	text := s.text
	if s.number(); s.skip(".") {
		digits := len(s.text)
		s.text = bytes.TrimLeft(s.text, "0123456789")
		s.bad = s.bad || digits == len(s.text)
	}
	f, err := strconv.ParseFloat(string(text[:len(text)-len(s.text)]), 64)
	s.bad = s.bad || err != nil
	return f
}

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
		case events, other:
			s.bad = true
		case float:
			*at[float64](p, f) = s.float()
		default:
			*at[int64](p, f) = s.number()
		}
	}
	s.take("}")
}

// maxRoom is how many entries of a map have room before they are read.
const maxRoom = 1024

// scanMap reads a map, by functions that read a key and a value.
func scanMap[K comparable, V any](s *scanner, to *map[K]V, key func() K, value func(*V)) {
	rows, _, _ := bytes.Cut(s.text, []byte("}}"))
	*to = make(map[K]V, min(bytes.Count(rows, []byte(`":{`)), maxRoom)) // the text is not checked yet
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

func (s *scanner) base64(to *[]byte) {
	text := s.quoted()
	if len(text) > maxEncoded {
		s.bad = true
		return
	}
	if most := base64.StdEncoding.DecodedLen(len(text)); len(s.room) < most {
		s.room = make([]byte, max(most, min(len(s.text), 8<<10)))
	}
	n, err := base64.StdEncoding.Decode(s.room, text)
	s.bad = s.bad || err != nil || base64.StdEncoding.EncodedLen(n) != len(text) // line ends are passed over
	*to, s.room = s.room[:n:n], s.room[n:]
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

// maxTotal bounds the sum of the numbers of one run, in records, bytes and nanoseconds alike. It is far
// beyond any run, and leaves room in an int64 to add up runs.
const maxTotal = int64(1) << 60

// maxRate is more records a second than any run has for its target.
const maxRate = 1e12

// Totals checks the windows of one run, from a file that anyone may have written. The zero value is ready
// to use.
type Totals struct {
	offered, settled int64
	consumed, timed  int64 // timed from end to end
	sum              int64 // of all numbers of all windows
	err              error
}

// Add returns an error if a window is impossible, by itself or after those before it.
func (t *Totals) Add(w *Window) error {
	if windowFields.each(unsafe.Pointer(w), false, t.field); t.err != nil {
		return t.err
	}
	if err := w.checkParts(); err != nil {
		return err
	}
	t.offered += w.Offered
	t.consumed += w.Consumed
	t.timed += w.EndToEnd.all() // its phase is that of the due time, not of the poll
	t.settled += w.Acknowledged + w.Failed + w.Unknown
	switch {
	case w.Start > w.End:
		return fmt.Errorf("it is from %v to %v", w.Start, w.End)
	case w.Service.all() > w.Acknowledged:
		return fmt.Errorf("%d records were acknowledged, and %d have a service time", w.Acknowledged, w.Service.all())
	case max(w.Response.unserved, w.EndToEnd.unserved) > w.Failed+w.Unknown+w.Unsent:
		return fmt.Errorf("%d records failed, are unknown or unsent, and latencies rank %d of them", w.Failed+w.Unknown+w.Unsent, max(w.Response.unserved, w.EndToEnd.unserved))
	case total(w.Errors) != w.Failed:
		return fmt.Errorf("%d records failed, and %d have an error", w.Failed, total(w.Errors))
	}
	for _, e := range w.Events {
		if e.Kind == RateChanged && !(min(e.OldRate, e.NewRate) > 0 && max(e.OldRate, e.NewRate) <= maxRate && e.At >= 0) {
			return fmt.Errorf("the rate is changed from %g to %g at %v", e.OldRate, e.NewRate, e.At)
		}
	}
	return nil
}

// End returns an error if the windows are impossible together.
func (t *Totals) End() error {
	if t.settled > t.offered {
		return fmt.Errorf("%d records were sent, and %d have an outcome", t.offered, t.settled)
	}
	if t.timed > t.consumed {
		return fmt.Errorf("%d records were read, and %d have an end-to-end time", t.consumed, t.timed)
	}
	return nil
}

// number checks a number that is not below 0. One that counts is added to sum.
func (t *Totals) number(f *field, n int64, counts bool) {
	switch {
	case t.err != nil:
	case n < 0:
		t.err = fmt.Errorf("%s is %d, below 0", f.name, n)
	case counts:
		if t.sum += n; t.sum < 0 || t.sum > maxTotal {
			t.err = fmt.Errorf("%s is %d: the numbers of all windows add up to more than any run has", f.name, n)
		}
	}
}

func (t *Totals) field(f *field, p unsafe.Pointer) {
	switch f.kind {
	case sum:
		t.number(f, *at[int64](p, f), true)
	case change:
		n := *at[int64](p, f)
		t.number(f, max(n, -max(n, -math.MaxInt64)), true)
	case bounded, highest, level: // a million records that always wait are 2^60 ns in 19 minutes
		t.number(f, *at[int64](p, f), false)
	case gap:
		t.number(f, int64(at[Gap](p, f).Length), false)
	case counts:
		for _, n := range *at[map[string]int64](p, f) {
			t.number(f, n, true)
		}
	}
}

// checkParts returns an error if more is counted in partitions than in all.
func (w *Window) checkParts() error {
	var of Partition
	for _, p := range w.Partitions {
		of.Records, of.Bytes = of.Records+p.Records, of.Bytes+p.Bytes
		of.Consumed, of.ConsumedBytes = of.Consumed+p.Consumed, of.ConsumedBytes+p.ConsumedBytes
	}
	if of.Records > w.Acknowledged || of.Bytes > w.Bytes || of.Consumed > w.Consumed || of.ConsumedBytes > w.ConsumedBytes {
		return fmt.Errorf("its partitions have %d records and %d read, more than the %d and %d of all", of.Records, of.Consumed, w.Acknowledged, w.Consumed)
	}
	return nil
}

func total(of map[string]int64) (n int64) {
	for _, k := range of {
		n += k
	}
	return n
}

// all returns the number of durations, with those out of range.
func (h *Histogram) all() int64 { return saturated(h.n, h.outOfRange) }
