package study

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
)

// grid makes every cell of a study as often as it says, in blocks. Where the best value of a factor is searched for, it begins
// with coarse steps. When these are made, blocks of runs follow with what lies between the best and its neighbours, and so on. Each
// block has the best so far once more, which ties it to the others: drift between blocks moves all runs of a block.
type grid struct{}

// Turn is one run of a study.
type Turn struct {
	Number int // from 1, in the order of the runs
	Cell   Cell
	Repeat int // the block that it is in, from 1; 0: it does not count
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
	err := d.readGrid()
	if err != nil {
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
	return d.publish()
}

// readGrid reads the runs that were made. Why searches ended stays.
func (d *Document) readGrid() error {
	cells, err := d.cells()
	g := &GridDoc{Cells: cells}
	if d.GridDoc != nil {
		g.ends = d.ends
	}
	d.GridDoc = g
	for _, t := range d.turns {
		if d.folder.counts(t) {
			if g.Wanted++; d.folder.isDone(t) {
				g.Runs++
			}
		}
	}
	return err
}

// Turns returns the runs in their order: those that do not count, which are the first ones of the study
// once more, and then block after block, each with every cell once.
func (s *Study) Turns() (turns []Turn) {
	blocks := s.blocks(s.Cells(), 0)
	for i := range s.Discard {
		turns = append(turns, Turn{Cell: blocks[i%len(blocks)].Cell})
	}
	turns = append(turns, blocks...)
	for i := range turns {
		turns[i].Number = i + 1
	}
	return turns
}

// blocks returns as many blocks as there are repeats, each with every one of some cells once. made is the
// number of blocks before these.
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
		end, values, best := EndNothing, []quantity(nil), -1
		if r.best >= 0 {
			best = slices.Index(group, r.cells[r.best])
			tried, alike := make([]int64, len(group)), make([]bool, len(group))
			for i, c := range group {
				at := slices.Index(r.cells, c)
				tried[i], alike[i] = amount(c.At[factor.Name]), at >= 0 && r.standings[at].Alike
			}
			values, end = span.next(tried, alike, best, factor.Search.Fine == "")
		}
		if end != "" {
			d.ends[group[0].key(factor.Name)] = end
			continue
		}
		cells = append(cells, group[best].cell)
		for _, v := range values {
			cells = append(cells, group[best].cell.with(factor.Name, v.String(), index))
			index++
		}
	}
	return cells, nil
}

// next returns the values to try between the best and its neighbours, or why there is none. At an end
// of the span the two next values are the neighbours: of one side alone two equal values may have a better one
// between them.
func (s steps) next(tried []int64, alike []bool, best int, untilAlike bool) (values []quantity, end SearchEnd) {
	near := []int{best - 1, best + 1}
	switch last := len(tried) - 1; best {
	case 0:
		near = []int{1, min(2, last)}
	case last:
		near = []int{last - 1, max(last-2, 0)}
	}
	if untilAlike && alike[near[0]] && alike[near[1]] {
		return nil, EndAlike
	}
	for i := max(best-1, 0); i < min(best+1, len(tried)-1); i++ {
		if v, ok := s.between(tried[i], tried[i+1]); ok {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return nil, EndFine
	}
	return values, ""
}

// with returns a cell in which a factor has another value.
func (c Cell) with(factor, value string, index int) Cell {
	c.Index, c.At = index, slices.Clone(c.At)
	for i := range c.At {
		if c.At[i].Name == factor {
			c.At[i].Value = value
		}
	}
	return c
}

// amount returns the number that a value of a searched factor is.
func amount(value string) int64 {
	q, _ := parseQuantity(value) // the search made it
	return q.n
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

// sayEnd says why a search ended.
func (d *Document) sayEnd(a *Answer) string {
	switch a.SearchEnd {
	case EndAlike:
		return fmt.Sprintf("; the search ended because %s cannot be told from its neighbours", a.Best)
	case EndFine:
		text := ""
		if s, err := d.Study.searched().Search.steps(); err == nil {
			text = quantity{s.fine, 1, s.from.kind}.String()
		}
		return "; the search ended at steps of " + text
	case EndNothing:
		return ""
	}
	return "; the search is not over: kt study resume " + d.ID + " goes on"
}
