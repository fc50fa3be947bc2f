package merge

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// Set is a set of run files. Its result does not depend on the order or the names of its files,
// nor on how often each was added.
//
// A set keeps one file of a run, the most complete: another may be a copy that ends where a
// connection broke.
type Set struct {
	Same       []string // a sentence for each file of a run that the set had already
	AtWork     []string // paths of files that a process is still writing
	Unreadable []error  // of files that Offer could not add

	runFiles map[string]*runFile // by run id
	limits   []string            // judged instead of those of the run; none: those of the run
	open     []*File
}

// Len returns how many files are in the set.
func (s *Set) Len() int { return len(s.runFiles) }

// NewSet returns an empty set.
func NewSet() *Set { return &Set{runFiles: make(map[string]*runFile)} }

// collectionLine is the first line of a collection, with Collection, or the one before each file, with File.
type collectionLine struct {
	Collection *collectionHead `json:"collection,omitempty"`
	File       *fileHead       `json:"file,omitempty"`
}

type collectionHead struct {
	Schema int `json:"schema"`
	Files  int `json:"files"` // how many files follow
}

type fileHead struct {
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`             // of the file that follows
	AtWork bool   `json:"at_work,omitempty"` // a process was writing it, so it has no end
}

// maxHead bounds the length of a collectionLine.
const maxHead = 256

// Add adds a run file, a file of vitals, or all files of a collection. It reads the file once, and
// Result and WriteTo read it again. name is for their errors. atWork reports whether a process was writing the file.
func (s *Set) Add(name string, r io.ReaderAt, size int64, atWork bool) (err error) {
	added := make([]*runFile, 1)
	switch {
	case isCollection(r, size):
		added, err = readCollection(name, r, size)
	case result.IsPage(r):
		err = errors.New("it is a page, which has the result of a run and not its seconds: name the run file (.ktr)")
	default:
		added[0], err = readRunFile(name, r, size, atWork)
	}
	if err != nil {
		return err
	}
	for _, one := range added {
		id := cmp.Or(one.header.RunID, one.sum)
		old := s.runFiles[id]
		if old != nil {
			s.Same = append(s.Same, fmt.Sprintf("%s is the same run as %s", one.name, old.name))
		}
		if old == nil || old.compareContent(one) < 0 {
			s.runFiles[id] = one
		}
	}
	return nil
}

func isCollection(r io.ReaderAt, size int64) bool {
	const mark = `{"collection":`
	head := make([]byte, len(mark))
	n, _ := r.ReadAt(head, 0) // reading it as a run file reports the error
	return size >= int64(n) && string(head[:n]) == mark
}

// readCollection reads the files of a collection.
func readCollection(name string, r io.ReaderAt, size int64) (all []*runFile, _ error) {
	head, at, err := headAt(r, 0, size)
	switch {
	case err != nil:
		return nil, err
	case head.Collection == nil:
		return nil, errNoCollection
	case head.Collection.Schema != result.Schema:
		return nil, result.CheckSchema(head.Collection.Schema)
	}
	for n := 1; at < size; n++ {
		var one *runFile
		if one, at, err = readMember(fmt.Sprintf("%s, file %d", name, n), r, at, size); err != nil {
			return nil, fmt.Errorf("file %d: %w", n, err)
		}
		all = append(all, one)
	}
	if want := head.Collection.Files; len(all) != want {
		return nil, fmt.Errorf("there are %d files, and should be %d: the collection was cut off or changed", len(all), want)
	}
	return all, nil
}

// readMember reads the file of a collection whose head is at an offset, and returns the offset of its end.
func readMember(name string, r io.ReaderAt, at, size int64) (*runFile, int64, error) {
	head, from, err := headAt(r, at, size)
	h := cmp.Or(head.File, new(fileHead))
	switch {
	case err != nil:
		return nil, 0, err
	case head.File == nil:
		return nil, 0, errNoCollection
	case h.Bytes < 1 || h.Bytes > size-from:
		return nil, 0, fmt.Errorf("it should have %d bytes, and there are %d: the collection was cut off or changed", h.Bytes, size-from)
	}
	one, err := readRunFile(name, io.NewSectionReader(r, from, h.Bytes), h.Bytes, h.AtWork)
	if err == nil && one.sum != h.SHA256 {
		err = fmt.Errorf("its SHA-256 is %.12s…, and should be %.12q…: the collection was changed", one.sum, h.SHA256)
	}
	return one, from + h.Bytes, err
}

var errNoCollection = errors.New("this is not a line of a collection")

// headAt reads the collectionLine at an offset, and returns the offset of its end.
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

// inOrder returns the run files, sorted.
func (s *Set) inOrder() []*runFile {
	return slices.SortedFunc(maps.Values(s.runFiles), (*runFile).compare)
}

// Select keeps the files of one run and drops the others. run is its name, its epoch, or
// NAME@START with the start that its result says. With "", files of several runs are an error that
// lists them. Run files without a part are taken for parts of one run.
func (s *Set) Select(run string) error {
	all := groupsOf(s.inOrder())
	fit := slices.DeleteFunc(slices.Clone(all), func(g *group) bool {
		return run != "" && (!g.parts || g.run != run && g.epoch != run) && g.name(time.RFC3339) != run && g.name(exactly) != run
	})
	switch {
	case len(all) == 0:
		return errors.New("there are no run files")
	case len(fit) == 0:
		return fmt.Errorf("no part of the run %q is there; there is %s", run, listRuns(all))
	case len(fit) > 1:
		return fmt.Errorf("the files are of %d runs: choose one with --run, by its name, its epoch or NAME@START: %s", len(fit), listRuns(fit))
	}
	maps.DeleteFunc(s.runFiles, func(_ string, one *runFile) bool { return !slices.Contains(fit[0].files, one) })
	return nil
}

// listRuns lists runs by their starts. Of several with one name, each has what selects it.
func listRuns(runs []*group) string {
	var all []string
	clocks := ""
	for _, g := range runs {
		what, name := "runs by themselves", g.run
		for _, other := range runs {
			if g.epoch == "" && other != g && other.run == g.run && other.parts == g.parts {
				name = g.name(time.RFC3339)
				clocks = ". Runs that were started without --on differ by when they began: a wrong clock splits one run in two"
				if other.name(time.RFC3339) == name { // both began in one second
					name = g.name(exactly)
					break
				}
			}
		}
		if g.parts {
			what = fmt.Sprintf("run %q", name)
		} else if name != g.run {
			what += fmt.Sprintf(" %q", name)
		}
		if g.epoch != "" {
			what += fmt.Sprintf(", epoch %q", g.epoch)
		}
		all = append(all, g.started.Format(time.RFC3339)+" "+what)
	}
	slices.Sort(all)
	return strings.Join(all, "; ") + clocks
}

// RunFiles lists the files of the set, sorted, with the state of each part.
func (s *Set) RunFiles() []result.MergedFile { return newMerge(s.inOrder()).listRunFiles() }

// WriteTo writes the set as a collection: each file unchanged, after a line with its checksum and
// length. Equal sets give equal bytes.
func (s *Set) WriteTo(w io.Writer) (written int64, err error) {
	all := s.inOrder()
	head := func(line collectionLine) io.Reader {
		text, _ := json.Marshal(line) // numbers and texts
		return bytes.NewReader(append(text, '\n'))
	}
	write := func(from io.Reader) (n int64) {
		if err == nil {
			n, err = io.Copy(w, from)
			written += n
		}
		return n
	}
	write(head(collectionLine{Collection: &collectionHead{Schema: result.Schema, Files: len(all)}}))
	for _, one := range all {
		write(head(collectionLine{File: &fileHead{SHA256: one.sum, Bytes: one.size, AtWork: one.atWork}}))
		if n := write(io.NewSectionReader(one.r, 0, one.size)); err == nil && n < one.size {
			err = fmt.Errorf("%s has become shorter: %w", one.name, io.ErrUnexpectedEOF)
		}
	}
	if err != nil {
		err = fmt.Errorf("write collection: %w", err)
	}
	return written, err
}

// ReadFile is Read of the file at a path.
func ReadFile(path string, limits ...string) (result.Result, error) {
	f, err := Open(path)
	if err != nil {
		return result.Result{}, err
	}
	defer f.Close()
	r, err := Read(f, f.Size, limits...)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return r, err
}

// Read returns the result of a run file, the merged one of a collection, or that of a page. limits are judged instead
// of those of the run; none: those of the run. A page holds no windows, so its limits are as they were judged.
func Read(r io.ReaderAt, size int64, limits ...string) (result.Result, error) {
	if result.IsPage(r) {
		if len(limits) > 0 {
			return result.Result{}, errors.New("a page cannot be judged anew: name the run file")
		}
		res, err := result.ReadPage(io.NewSectionReader(r, 0, size))
		if err == nil {
			err = (&runFile{header: res.Header}).checkHeader()
		}
		return res, err
	}
	if !isCollection(r, size) {
		fold, err := result.Replay(io.NewSectionReader(r, 0, size), nil, limits...)
		if err != nil {
			return result.Result{}, err
		}
		return fold.Result(), nil
	}
	s := &Set{runFiles: make(map[string]*runFile), limits: limits}
	if err := s.Add("the collection", r, size, false); err != nil {
		return result.Result{}, err
	}
	return s.Result(context.Background())
}

// Windows calls each for the windows of a run file in their order, or for the merged ones of a collection. Read has to have read the file.
func Windows(r io.ReaderAt, size int64, each func(w *stats.Window)) error {
	if !isCollection(r, size) {
		for l, err := range result.NewLines(io.NewSectionReader(r, 0, size), 0).All() {
			if err != nil {
				return err
			}
			if l.Window != nil {
				each(l.Window)
			}
		}
		return nil
	}
	s := NewSet()
	err := s.Add("the collection", r, size, false)
	if err == nil {
		_, err = s.Result(context.Background()) // from here on, corrupt files end where they are damaged
	}
	if err == nil {
		_, err = s.merge(context.Background(), each)
	}
	return err
}
