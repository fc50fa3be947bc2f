package jvm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Perf is the counters that a running HotSpot JVM publishes in its hsperfdata file.
type Perf struct {
	Version           string        // "17.0.15+6"
	Uptime            time.Duration // to the JVM's last look at its clock, twenty a second
	HeapUsed, HeapMax int64         // bytes, all generations; used as of the last collection or newly filled region
	OldUsed, OldMax   int64
	Collections       []Collector // young, old and, in G1, concurrent
	SafepointTime     time.Duration
	Values            map[string]any // every counter: int64 or string
}

// Collector is one of the JVM's garbage collectors.
type Collector struct {
	Name  string // "G1 young collection pauses"
	Count int64
	Time  time.Duration // since the start
}

// The file begins with a prologue of 32 bytes: the magic, the byte order, the
// version of the format, whether the JVM has finished setting it up, and then in
// that byte order where the first entry is and how many there are.
const (
	prologueSize = 32
	magic        = 0xcafec0c0 // always the high byte first
	entryHead    = 20
)

// ErrNotReady is the error of a file that a JVM that is just starting has not
// finished: it can be read again in a moment.
var ErrNotReady = errors.New("the JVM is still starting")

// ParsePerf reads an hsperfdata file of version 2, that of Java 5 and later. A
// running JVM changes it meanwhile: the numbers need not be of one moment.
func ParsePerf(b []byte) (Perf, error) {
	values, err := parseValues(b)
	if err != nil {
		return Perf{}, fmt.Errorf("hsperfdata: %w", err)
	}
	p := Perf{Values: values} // a counter that a JVM does not have is 0
	// Of the JVM, which has the build too, without the packager's mark; before Java 9 only java.version has the form that people know.
	p.Version, _ = values["java.property.java.version"].(string)
	vm, _ := values["java.property.java.vm.version"].(string)
	if vm, _, _ = strings.Cut(vm, "-"); vm != "" && strings.HasPrefix(vm, p.Version) {
		p.Version = vm
	}
	p.Uptime, p.SafepointTime = p.ticks("sun.os.hrt.ticks"), p.ticks("sun.rt.safepointTime")
	p.heap()
	for i := range mostCollectors { // Z has but a third one
		if name, ok := values[counter("sun.gc.collector", i, "name")].(string); ok {
			p.Collections = append(p.Collections, Collector{
				Name: name, Count: p.number(counter("sun.gc.collector", i, "invocations")), Time: p.ticks(counter("sun.gc.collector", i, "time")),
			})
		}
	}
	return p, nil
}

// parseValues reads the entries, and believes nothing further than the file reaches.
func parseValues(b []byte) (map[string]any, error) {
	if len(b) < prologueSize || binary.BigEndian.Uint32(b) != magic {
		return nil, errors.New("not the file of a HotSpot JVM: it does not begin with cafec0c0")
	}
	var order binary.ByteOrder = binary.BigEndian
	if b[4] == 1 {
		order = binary.LittleEndian
	}
	if b[5] != 2 {
		return nil, fmt.Errorf("version %d.%d of the format is not known, only 2", b[5], b[6])
	}
	if b[7] == 0 {
		return nil, ErrNotReady
	}
	values := make(map[string]any)
	at := uint64(order.Uint32(b[24:]))
	for range order.Uint32(b[28:]) {
		if at > uint64(len(b)) {
			return nil, fmt.Errorf("the entry at byte %d is behind the end", at)
		}
		entry := b[at:]
		if len(entry) < entryHead {
			return nil, fmt.Errorf("the entry at byte %d is cut off", at)
		}
		length := uint64(order.Uint32(entry))
		if length == 0 {
			break // the JVM counts an entry before it fills it in
		}
		if length < entryHead || length > uint64(len(entry)) {
			return nil, fmt.Errorf("the entry at byte %d cannot have %d bytes", at, length)
		}
		parseEntry(values, entry[:length], order)
		at += length
	}
	return values, nil
}

// parseEntry adds one entry: length, where its name begins, elements (0: one value), type, flags, unit, variability, where its data
// begin. What is not well formed, or of a type that no JVM uses, is left out.
func parseEntry(values map[string]any, e []byte, order binary.ByteOrder) {
	nameAt, count, dataAt := uint64(order.Uint32(e[4:])), uint64(order.Uint32(e[8:])), uint64(order.Uint32(e[16:]))
	if nameAt >= uint64(len(e)) || dataAt > uint64(len(e)) {
		return
	}
	name, _, ok := bytes.Cut(e[nameAt:], []byte{0})
	data := e[dataAt:]
	switch kind := e[12]; {
	case !ok:
	case kind == 'J' && count == 0 && len(data) >= 8:
		values[string(name)] = int64(order.Uint64(data))
	case kind == 'B' && count <= uint64(len(data)):
		text, _, _ := bytes.Cut(data[:count], []byte{0})
		values[string(name)] = string(text)
	}
}

// mostCollectors is more than any JVM has: young, old and concurrent.
const mostCollectors = 8

// generations are the young and the old one. A collector without generations shows
// its heap as the old one.
const young, old = 0, 1

func (p *Perf) heap() {
	for generation := young; generation <= old; generation++ {
		name := counter("sun.gc.generation", generation, "")
		used := int64(0)
		for space := 0; ; space++ {
			if _, ok := p.Values[counter(name+"space", space, "name")]; !ok {
				break
			}
			used += p.number(counter(name+"space", space, "used"))
		}
		// G1 adds some bytes to each size so that nobody divides by 0.
		most := p.number(name+"maxCapacity") &^ 1023
		p.HeapUsed += used
		p.HeapMax += most
		if generation == old {
			p.OldUsed, p.OldMax = used, most
		}
	}
	// Either generation of G1 may grow to all of the heap, and says so.
	if policy, _ := p.Values["sun.gc.policy.name"].(string); policy == "GarbageFirst" {
		p.HeapMax = p.OldMax
	}
}

// counter returns the name of one of several: "sun.gc.collector.0.name".
func counter(of string, i int, what string) string {
	return of + "." + strconv.Itoa(i) + "." + what
}

func (p *Perf) number(name string) int64 {
	n, _ := p.Values[name].(int64)
	return n
}

// ticks returns a time that is counted in ticks of the JVM's clock.
func (p *Perf) ticks(name string) time.Duration {
	frequency := p.number("sun.os.hrt.frequency")
	if frequency <= 0 {
		return 0
	}
	ns := float64(p.number(name)) / float64(frequency) * 1e9
	if ns < 0 || ns > math.MaxInt64/2 {
		return 0
	}
	return time.Duration(ns)
}
