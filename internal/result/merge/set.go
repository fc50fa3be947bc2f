package merge

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/result"
)

// Set is run files whose runs are parts of one bigger run. A set is what is in it: it
// does not matter in what order its files came, under what names, or how often.
//
// Of several files of one run, such as a copy that ends where the connection broke, a
// set keeps the one that tells most.
type Set struct {
	sources map[string]*source // by run id
}

// Len is how many files are in the set.
func (s *Set) Len() int { return len(s.sources) }

// NewSet makes an empty set.
func NewSet() *Set { return &Set{sources: make(map[string]*source)} }

// collectionLine is a line of a collection beside its files: the first has Collection,
// and before each file there is a Source.
type collectionLine struct {
	Collection *collectionHead `json:"collection,omitempty"`
	Source     *sourceHead     `json:"source,omitempty"`
}

type collectionHead struct {
	Schema  int `json:"schema"`
	Sources int `json:"sources"` // how many files follow
}

type sourceHead struct {
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"` // of the file that follows
}

// maxHead bounds the lines of a collection that are its own.
const maxHead = 256

// Add adds a run file, a file of a machine that was watched, or all files of a
// collection. It reads the file once; r must stay readable for as long as the set is
// used. name is for errors, which say what is wrong with the file.
func (s *Set) Add(name string, r io.ReaderAt, size int64) error {
	var added []*source
	var err error
	if isCollection(r, size) {
		added, err = readCollection(name, r, size)
	} else {
		var one *source
		one, err = readSource(name, r, size)
		added = []*source{one}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, one := range added {
		s.add(one)
	}
	return nil
}

func (s *Set) add(one *source) {
	id := one.header.RunID
	if id == "" {
		id = one.sum
	}
	if old := s.sources[id]; old == nil || old.tellsMore(one) < 0 {
		s.sources[id] = one
	}
}

func isCollection(r io.ReaderAt, size int64) bool {
	const mark = `{"collection":`
	if size < int64(len(mark)) {
		return false
	}
	head := make([]byte, len(mark))
	n, _ := r.ReadAt(head, 0) // what cannot be read is no collection: reading it as a run file tells why
	return string(head[:n]) == mark
}

// readCollection reads the files of a collection.
func readCollection(name string, r io.ReaderAt, size int64) ([]*source, error) {
	head, at, err := headAt(r, 0, size)
	switch {
	case err != nil:
		return nil, err
	case head.Collection == nil:
		return nil, errNoCollection
	case head.Collection.Schema != result.Schema:
		return nil, result.CheckSchema(head.Collection.Schema)
	}
	var all []*source
	for n := 1; at < size; n++ {
		wrap := func(err error) error { return fmt.Errorf("source %d: %w", n, err) }
		head, from, err := headAt(r, at, size)
		if err != nil {
			return nil, wrap(err)
		}
		if head.Source == nil {
			return nil, wrap(errNoCollection)
		}
		h := *head.Source
		if h.Bytes < 1 || h.Bytes > size-from {
			return nil, wrap(fmt.Errorf("it should have %d bytes, and there are %d: the collection was cut off or changed", h.Bytes, size-from))
		}
		one, err := readSource(fmt.Sprintf("%s, source %d", name, n), io.NewSectionReader(r, from, h.Bytes), h.Bytes)
		if err != nil {
			return nil, wrap(err)
		}
		if one.sum != h.SHA256 {
			return nil, wrap(fmt.Errorf("its SHA-256 is %.12s…, and should be %.12q…: the collection was changed", one.sum, h.SHA256))
		}
		all, at = append(all, one), from+h.Bytes
	}
	if want := head.Collection.Sources; len(all) != want {
		return nil, fmt.Errorf("there are %d sources, and should be %d: the collection was cut off or changed", len(all), want)
	}
	return all, nil
}

var errNoCollection = errors.New("this is not a line of a collection")

// headAt reads one of a collection's own lines, and tells where it ends.
func headAt(r io.ReaderAt, at, size int64) (h collectionLine, end int64, err error) {
	text := make([]byte, min(maxHead, size-at))
	if _, err := r.ReadAt(text, at); err != nil && !errors.Is(err, io.EOF) {
		return h, 0, err
	}
	n := bytes.IndexByte(text, '\n')
	if n < 0 || json.Unmarshal(text[:n], &h) != nil {
		return h, 0, errNoCollection
	}
	return h, at + int64(n) + 1, nil
}

// inOrder is the sources in the order that is theirs, whatever they came in.
func (s *Set) inOrder() []*source {
	var all []*source
	for _, one := range s.sources {
		all = append(all, one)
	}
	slices.SortFunc(all, (*source).inOrder)
	return all
}

// Select keeps the parts of one run, by its name or its epoch. With "" the set must be
// of one run: parts of several are an error that lists them. Files of no part are runs
// by themselves, and are taken for parts of one run if all files are such. Several runs
// of one name that began by themselves are told apart by their start: NAME@START.
func (s *Set) Select(run string) error {
	first := make(map[group]*source) // of each run that is asked for, the one that began first
	of := groupsOf(s.inOrder())
	for one, g := range of {
		if !g.askedFor(run) {
			continue
		}
		if old := first[g]; old == nil || one.began().Before(old.began()) {
			first[g] = one
		}
	}
	switch {
	case len(s.sources) == 0:
		return errors.New("there are no run files")
	case len(first) == 0:
		return fmt.Errorf("no part of the run %q is there", run)
	case len(first) > 1:
		return severalRuns(first)
	}
	for id, one := range s.sources {
		if first[of[one]] == nil {
			delete(s.sources, id)
		}
	}
	return nil
}

func severalRuns(first map[group]*source) error {
	var all []string
	clocks := ""
	for g, one := range first {
		again, layout := false, time.RFC3339 // another run has the name, and no epoch tells them apart
		for other := range first {
			if g.epoch != "" || other == g || other != (group{g.run, "", g.parts, other.began}) {
				continue
			}
			again = true
			if other.name(layout) == g.name(layout) { // both began in one second
				layout = exactly
			}
		}
		what, name := "runs by themselves", g.run
		if again {
			name = g.name(layout)
			clocks = "; what began by itself is told apart by the clocks of the hosts, so one that is far off makes two runs of one"
		}
		if g.parts {
			what = fmt.Sprintf("run %q", name)
		} else if again {
			what += fmt.Sprintf(" %q", name)
		}
		if g.epoch != "" {
			what += fmt.Sprintf(", epoch %q", g.epoch)
		}
		all = append(all, fmt.Sprintf("%s %s", one.began().UTC().Format(time.RFC3339), what))
	}
	slices.Sort(all)
	return fmt.Errorf("there are parts of %d runs, choose one with --run, by its name or epoch: %s", len(all), strings.Join(all, "; ")+clocks)
}

// Sources lists what is in the set, in its order, with what became of each part.
func (s *Set) Sources() []result.Source { return newMerge(s.inOrder()).listSources() }

// WriteTo writes the set as a collection: its files as they are, each behind a line that
// has its checksum and its length. Sets that are equal are written as the same bytes.
func (s *Set) WriteTo(w io.Writer) (int64, error) {
	out := &counted{w: bufio.NewWriterSize(w, 64<<10)}
	err := s.writeTo(out)
	if err == nil {
		err = out.w.Flush()
	}
	if err != nil {
		err = fmt.Errorf("write collection: %w", err)
	}
	return out.n, err
}

func (s *Set) writeTo(out *counted) error {
	lines := json.NewEncoder(out)
	all := s.inOrder()
	if err := lines.Encode(collectionLine{Collection: &collectionHead{Schema: result.Schema, Sources: len(all)}}); err != nil {
		return err
	}
	for _, one := range all {
		if err := lines.Encode(collectionLine{Source: &sourceHead{SHA256: one.sum, Bytes: one.size}}); err != nil {
			return err
		}
		n, err := io.Copy(out, io.NewSectionReader(one.r, 0, one.size))
		if err == nil && n < one.size {
			err = fmt.Errorf("%s has become shorter: %w", one.name, io.ErrUnexpectedEOF)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// counted counts what is written.
type counted struct {
	w *bufio.Writer
	n int64
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// Read is the result of a run file, or the merged one of a collection.
func Read(r io.ReaderAt, size int64) (result.Result, error) {
	if !isCollection(r, size) {
		fold, err := result.Replay(io.NewSectionReader(r, 0, size))
		if err != nil {
			return result.Result{}, err
		}
		return fold.Result(), nil
	}
	s := NewSet()
	sources, err := readCollection("the collection", r, size)
	if err != nil {
		return result.Result{}, err
	}
	for _, one := range sources {
		s.add(one)
	}
	return s.Result(context.Background())
}
