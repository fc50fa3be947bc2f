package stats

import (
	"reflect"
	"strings"
	"unsafe"
)

// fields lists the fields of a struct in the order of a run file: the json tag has the name, the type and the tag `add` the
// kind. Adding, shifting, reading and checking a Window go by this list, so a new field is one line in its struct.
type fields []field

type field struct {
	name   string
	key    string // the name as it stands in a run file, behind a comma
	kind   kind
	offset uintptr   // in the struct
	of     []uintptr // of first and last: offsets of the counts without which the time is meaningless
	rows   fields    // of what is in a group, a gap, or in each row
}

// kind is the way in which a field is added up.
type kind int

const (
	sum        kind = iota // a number from 0; it has no tag
	change                 // a sum of numbers that may be below 0
	bounded                // a sum that stops at its highest value
	highest                // the highest
	level                  // the highest, of a window that may be empty nevertheless
	start                  // when the window begins
	end                    // when it ends
	first                  // the earliest time of what is counted in the field that the tag names
	last                   // the latest time
	warmup                 // true if all are
	gap                    // the longest
	buckets                // added up range by range
	histogram              // merged
	counts                 // by name
	group                  // a struct of further fields
	partitions             // rows by number
	brokers                // rows by number
	events                 // merged by time
	encoded                // bytes, of a histogram
	float                  // a number with a fraction; no window has one
	other                  // no window has one, and it is not scanned
)

var kindOfTag = map[string]kind{
	"change": change, "bounded": bounded, "highest": highest, "level": level, "start": start, "end": end, "first": first, "last": last,
}

var kindOfType = map[reflect.Type]kind{
	reflect.TypeFor[bool](): warmup, reflect.TypeFor[Gap](): gap, reflect.TypeFor[Buckets](): buckets, reflect.TypeFor[Histogram](): histogram,
	reflect.TypeFor[float64](): float, reflect.TypeFor[int](): other, reflect.TypeFor[map[string]int64](): counts, reflect.TypeFor[Traffic](): group, reflect.TypeFor[[]Event](): events, reflect.TypeFor[[]byte](): encoded,
	reflect.TypeFor[map[int32]Partition](): partitions, reflect.TypeFor[map[int32]Broker](): brokers,
}

var (
	windowFields    = fieldsOf(reflect.TypeFor[Window]())
	partitionFields = fieldsOf(reflect.TypeFor[Partition]())
	trafficFields   = fieldsOf(reflect.TypeFor[Traffic]())
	histogramFields = fieldsOf(reflect.TypeFor[histogramJSON]())
)

func fieldsOf(of reflect.Type) (all fields) {
	one := reflect.New(of).Elem()
	offset := func(field reflect.Value) uintptr { return field.UnsafeAddr() - one.UnsafeAddr() }
	for _, f := range reflect.VisibleFields(of) {
		if f.Anonymous { // its fields are visible ones
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		got := field{name: name, key: `,"` + name + `":`, kind: kindOfType[f.Type], offset: offset(one.FieldByIndex(f.Index))}
		switch got.kind {
		case gap, group:
			got.rows = fieldsOf(f.Type)
		case partitions, brokers:
			got.rows = fieldsOf(f.Type.Elem())
		case sum:
			tag, count, _ := strings.Cut(f.Tag.Get("add"), " ")
			got.kind = kindOfTag[tag]
			for _, name := range strings.Fields(count) {
				got.of = append(got.of, offset(one.FieldByName(name)))
			}
		}
		all = append(all, got)
	}
	return all
}

func at[T any](p unsafe.Pointer, f *field) *T { return (*T)(unsafe.Add(p, f.offset)) }

// add adds the fields at o to those at p, except for events.
func (all fields) add(p, o unsafe.Pointer) {
	for i := range all {
		f := &all[i]
		switch f.kind {
		case sum, change:
			*at[int64](p, f) += *at[int64](o, f)
		case bounded:
			*at[int64](p, f) = saturated(*at[int64](p, f), *at[int64](o, f))
		case highest, level, end, last:
			*at[int64](p, f) = max(*at[int64](p, f), *at[int64](o, f))
		case start:
			*at[int64](p, f) = min(*at[int64](p, f), *at[int64](o, f))
		case first: // behind the count that it is of, which is added up already
			switch n := *(*int64)(unsafe.Add(o, f.of[0])); {
			case n == 0:
			case n == *(*int64)(unsafe.Add(p, f.of[0])):
				*at[int64](p, f) = *at[int64](o, f)
			default:
				*at[int64](p, f) = min(*at[int64](p, f), *at[int64](o, f))
			}
		case warmup:
			*at[bool](p, f) = *at[bool](p, f) && *at[bool](o, f)
		case gap:
			*at[Gap](p, f) = at[Gap](p, f).Longer(*at[Gap](o, f))
		case buckets:
			at[Buckets](p, f).add(at[Buckets](o, f))
		case histogram:
			at[Histogram](p, f).add(at[Histogram](o, f))
		case counts:
			addCounts(at[map[string]int64](p, f), *at[map[string]int64](o, f))
		case group:
			f.rows.add(unsafe.Add(p, f.offset), unsafe.Add(o, f.offset))
		case partitions:
			addRows(f, at[map[int32]Partition](p, f), *at[map[int32]Partition](o, f))
		case brokers:
			addRows(f, at[map[int32]Broker](p, f), *at[map[int32]Broker](o, f))
		case events, encoded, float, other:
		}
	}
}

func addRows[R any](f *field, to *map[int32]R, rows map[int32]R) {
	if *to == nil && len(rows) > 0 {
		*to = make(map[int32]R, len(rows))
	}
	var sum, row R // both go to the heap, so they are made once
	for id, o := range rows {
		sum, row = (*to)[id], o
		f.rows.add(unsafe.Pointer(&sum), unsafe.Pointer(&row))
		(*to)[id] = sum
	}
}

// empty reports whether nothing was recorded. Without placed, a window may have a place in time, and levels.
func (all fields) empty(p unsafe.Pointer, placed bool) bool {
	for i := range all {
		f, is := &all[i], true
		switch f.kind {
		case sum, change, bounded, highest:
			is = *at[int64](p, f) == 0
		case level, start, end, last:
			is = !placed || *at[int64](p, f) == 0
		case warmup:
			is = !placed || !*at[bool](p, f)
		case gap:
			is = *at[Gap](p, f) == Gap{}
		case histogram:
			is = at[Histogram](p, f).IsZero()
		case counts:
			is = len(*at[map[string]int64](p, f)) == 0
		case partitions:
			is = len(*at[map[int32]Partition](p, f)) == 0
		case brokers:
			is = len(*at[map[int32]Broker](p, f)) == 0
		case events:
			is = len(*at[[]Event](p, f)) == 0
		case first, buckets, group, encoded, float, other: // first is meaningless without a count, and the others are in rows only
		}
		if !is {
			return false
		}
	}
	return true
}

// each calls f for every field of the struct at base and of its groups and rows, which f may change if change is set.
func (all fields) each(base unsafe.Pointer, change bool, f func(f *field, base unsafe.Pointer)) {
	for i := range all {
		switch one := &all[i]; one.kind {
		case group:
			one.rows.each(unsafe.Add(base, one.offset), change, f)
		case partitions:
			eachRow(one, *at[map[int32]Partition](base, one), change, f)
		case brokers:
			eachRow(one, *at[map[int32]Broker](base, one), change, f)
		default:
			f(one, base)
		}
	}
}

func eachRow[R any](of *field, rows map[int32]R, change bool, f func(f *field, base unsafe.Pointer)) {
	var row R
	for id, r := range rows {
		row = r
		if of.rows.each(unsafe.Pointer(&row), change, f); change {
			rows[id] = row
		}
	}
}
