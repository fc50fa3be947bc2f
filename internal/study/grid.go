package study

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/plan"
)

// grid makes every cell of a study as often as it says, in blocks. Each block of a search has the best so far once more, because drift
// between blocks moves all runs of a block.
type grid struct{}

// Turn is one run of a study.
type Turn struct {
	Number int // from 1, in the order of the runs
	Cell   Cell
	Repeat int   // the block that it is in, from 1; 0: it does not count
	Phase  Phase // of a search for the best settings
	Step   int   // its place in the phase, from 1; 0: it does not count
	Steps  int   // of the phase, as far as they are known; 0: the runs decide
}

// SearchEnd is why a search among the values of a factor ended.
type SearchEnd string

// The ends of a search.
const (
	EndAlike   SearchEnd = "alike"            // the best cannot be told from its neighbours
	EndFine    SearchEnd = "fine"             // no value is left between the best and its neighbours
	EndNothing SearchEnd = "nothing_measured" // at any value
)

func (grid) next(d *Document) ([]Turn, error) {
	s := d.Study
	switch {
	case len(d.turns) == 0:
		return s.Turns(), nil
	case s.searched() == nil:
		return nil, nil
	}
	if err := d.readGrid(); err != nil {
		return nil, err
	}
	cells, err := d.between()
	if err != nil || len(cells) == 0 {
		return nil, err
	}
	return s.blocks(cells, d.turns[len(d.turns)-1].Repeat), nil
}

func (grid) conclude(d *Document) error {
	if err := d.readGrid(); err != nil {
		return err
	}
	d.answer()
	rows, err := publishedRows(d.Study.Published)
	rows = slices.DeleteFunc(rows, func(r publishedRow) bool { return r.RecordsPerSecond == 0 }) // compare shows those of systems
	d.Published = append([]Published{}, mapped(rows, d.beside)...)
	return err
}

// readGrid reads the runs that were made. Why searches ended stays.
func (d *Document) readGrid() (err error) {
	d.GridDoc = &GridDoc{ends: cmp.Or(d.GridDoc, new(GridDoc)).ends}
	d.Runs, d.Wanted = d.count()
	d.Cells, err = d.cells()
	return err
}

// Turns returns the runs in their order: those that do not count, which are the first ones of the study
// once more, and then block after block, each with every cell once.
func (s *Study) Turns() (turns []Turn) {
	blocks := s.blocks(s.Cells(), 0)
	for i := range s.Discard {
		turns = append(turns, Turn{Cell: blocks[i%len(blocks)].Cell})
	}
	return append(turns, blocks...)
}

// blocks returns as many blocks as there are repeats, each with every one of some cells once. made blocks are before these.
func (s *Study) blocks(cells []Cell, made int) (turns []Turn) {
	chance := rand.New(rand.NewPCG(s.Seed, uint64(made)))
	for repeat := range s.Repeats {
		block := slices.Clone(cells)
		switch {
		case s.Order == Shuffled:
			chance.Shuffle(len(block), func(i, j int) { block[i], block[j] = block[j], block[i] })
		case s.Order == ABBA && repeat%2 == 1:
			slices.Reverse(block)
		}
		for _, c := range block {
			turns = append(turns, Turn{Cell: c, Repeat: made + repeat + 1})
		}
	}
	return turns
}

// between returns the cells of the next blocks: none when every search is over.
func (d *Document) between() (cells []Cell, err error) {
	factor := d.Study.searched()
	place := slices.Index(d.Study.factorNames(), factor.Name)
	span, err := factor.Search.steps()
	if err != nil {
		return nil, err
	}
	d.ends = make(map[string]SearchEnd)
	index := len(d.Cells)
	for _, group := range d.groups(factor.Name) {
		r, err := d.rank(group, factor.Name, d.Study.searchedBy())
		if err != nil {
			return nil, err
		}
		key := fmt.Sprint(d.others(group[0], factor.Name))
		if r.best < 0 {
			d.ends[key] = EndNothing
			continue
		}
		best, last := slices.Index(group, r.cells[r.best].CellDoc), len(group)-1
		// At an end of the span the two next values are the neighbours: of one side alone two equal values may have a better one
		// between them.
		first := max(0, min(best-1, last-2))
		differ := slices.ContainsFunc(group[first:min(first+3, last+1)], func(c *CellDoc) bool {
			return !slices.ContainsFunc(r.cells, func(o ranked) bool { return o.CellDoc == c && o.Alike })
		})
		tried := mapped(group[max(best-1, 0):min(best+2, last+1)], func(c *CellDoc) int64 { return amount(c.At[factor.Name]) })
		values := span.between(tried...)
		switch {
		case factor.Search.Fine == "" && !differ:
			d.ends[key] = EndAlike
			continue
		case len(values) == 0:
			d.ends[key] = EndFine
			continue
		}
		cells = append(cells, group[best].cell)
		for _, v := range values {
			c := Cell{Index: index, At: slices.Clone(group[best].cell.At)}
			c.At[place].Value = v
			cells, index = append(cells, c), index+1
		}
	}
	return cells, nil
}

// order compares two cells by the order of the values of their factors, and of a search by their size.
func (s *Study) order(a, b Cell) int {
	for i, f := range s.Factors {
		switch x, y := a.At[i].Value, b.At[i].Value; {
		case x == y || s.searched() == nil:
		case f.Search != nil:
			return cmp.Compare(amount(x), amount(y))
		default:
			return cmp.Compare(slices.Index(f.Values, x), slices.Index(f.Values, y))
		}
	}
	return a.Index - b.Index
}

// searchedBy returns the metric by which a search looks for the best: that of the first question of it.
func (s *Study) searchedBy() Metric {
	if i := slices.IndexFunc(s.Ask, func(q Question) bool { return q.Best == s.searched().Name }); i >= 0 {
		return s.Ask[i].By
	}
	return ""
}

// Span is the whole of the values among which a study searches for the best: {search: 1..64, fine: 1}.
type Span struct {
	From string `json:"from"` // a whole number, a size (4KiB) or a time (5ms)
	To   string `json:"to"`
	Fine string `json:"fine,omitempty"` // the smallest step; "": that of one, until the best cannot be told from its neighbours
}

func parseSpan(search, fine string) *Span {
	from, to, _ := strings.Cut(search, "..")
	return &Span{strings.TrimSpace(from), strings.TrimSpace(to), fine}
}

// String returns the span as it is written in a study's file.
func (s *Span) String() string {
	return strings.TrimSuffix(s.From+".."+s.To+", fine "+s.Fine, ", fine ")
}

type kind struct {
	name  string
	read  func(string) (int64, error)
	write func(int64) string // as flags take it
}

// kinds are in the order in which a text is tried.
var kinds = []*kind{
	{"number", plan.ParseCount, func(n int64) string { return strconv.FormatInt(n, 10) }},
	{"time", func(s string) (int64, error) { d, err := plan.ParseDuration(s); return int64(d), err }, func(n int64) string { return time.Duration(n).String() }},
	{"size", plan.ParseVolume, func(n int64) string {
		unit := 0
		for n != 0 && unit < 3 && n%1024 == 0 {
			n, unit = n/1024, unit+1
		}
		return strconv.FormatInt(n, 10) + []string{"B", "KiB", "MiB", "GiB"}[unit]
	}},
}

func parseQuantity(text string) (n int64, of *kind, err error) {
	for _, of = range kinds {
		if n, err = of.read(text); err == nil {
			return n, of, nil
		}
	}
	return 0, of, fmt.Errorf("%q is no whole number, size or time: write 64, 4KiB or 5ms", text)
}

func amount(value string) int64 {
	n, _, _ := parseQuantity(value)
	return n
}

// steps is a span in numbers: a value is from, or more by some steps of fine.
type steps struct {
	from, to, fine int64
	kind           *kind
}

func (s *Span) steps() (steps, error) {
	from, of, err := parseQuantity(s.From)
	to, toOf, toErr := parseQuantity(s.To)
	fine, fineOf, fineErr := parseQuantity(cmp.Or(s.Fine, "1"))
	if err := cmp.Or(err, toErr, fineErr); err != nil {
		return steps{}, err
	}
	if fineOf == kinds[0] { // in the unit of from
		unit, _ := of.read("1" + strings.TrimLeft(s.From, "0123456789.,_ "))
		fine, fineOf = fine*unit, of
	}
	switch {
	case of != toOf:
		err = fmt.Errorf("%s is a %s and %s a %s: write both in one unit", s.From, of.name, s.To, toOf.name)
	case from < 1 || to <= from:
		err = fmt.Errorf("%s..%s: it must go from 1 or more to more, because the first steps double it", s.From, s.To)
	case fineOf != of:
		err = fmt.Errorf("fine %s is a %s and %s a %s: write both in one unit", s.Fine, fineOf.name, s.From, of.name)
	case fine < 1:
		err = fmt.Errorf("fine %s: it must be above 0", s.Fine)
	}
	return steps{from, to, fine, of}, err
}

// between returns the values in the middle of neighbours that are far enough apart for another step.
func (s steps) between(values ...int64) (middle []string) {
	for i := 1; i < len(values); i++ {
		if half := (values[i] - values[i-1]) / 2 / s.fine * s.fine; half > 0 {
			middle = append(middle, s.kind.write(values[i-1]+half))
		}
	}
	return middle
}
