package study

import (
	"cmp"
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
	return d.publish()
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
		if r.best < 0 {
			d.ends[group[0].key(factor.Name)] = EndNothing
			continue
		}
		best := slices.Index(group, r.cells[r.best])
		var tried []int64
		var alike []bool
		for _, c := range group {
			at := slices.Index(r.cells, c)
			tried, alike = append(tried, amount(c.At[factor.Name])), append(alike, at >= 0 && r.standings[at].Alike)
		}
		// At an end of the span the two next values are the neighbours: of one side alone two equal values may have a better one
		// between them.
		last := len(tried) - 1
		near := []int{best - 1, best + 1}
		switch best {
		case 0:
			near = []int{1, min(2, last)}
		case last:
			near = []int{last - 1, max(last-2, 0)}
		}
		values := span.between(tried[max(best-1, 0):min(best+2, last+1)]...)
		switch {
		case factor.Search.Fine == "" && alike[near[0]] && alike[near[1]]:
			d.ends[group[0].key(factor.Name)] = EndAlike
			continue
		case len(values) == 0:
			d.ends[group[0].key(factor.Name)] = EndFine
			continue
		}
		cells = append(cells, group[best].cell)
		for _, v := range values {
			c := Cell{Index: index, At: slices.Clone(group[best].cell.At)}
			c.At[slices.Index(d.Study.factorNames(), factor.Name)].Value = v
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

// sayEnd says why a search ended.
func (d *Document) sayEnd(a *Answer) string {
	switch a.SearchEnd {
	case EndAlike:
		return "; the search ended because " + a.Best + " cannot be told from its neighbours"
	case EndFine:
		s, _ := d.Study.searched().Search.steps() // Check has looked at it
		return "; the search ended at steps of " + s.kind.write(s.fine)
	case EndNothing:
		return ""
	}
	return "; the search is not over: kt study resume " + d.ID + " goes on"
}
