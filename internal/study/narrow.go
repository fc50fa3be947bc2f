package study

import (
	"cmp"
	"fmt"
	"slices"
)

// SearchEnd is why a search among the values of a factor ended.
type SearchEnd string

// The ends of a search.
const (
	EndAlike   SearchEnd = "alike"            // the best cannot be told from its neighbours
	EndFine    SearchEnd = "fine"             // no value is left between the best and its neighbours
	EndNothing SearchEnd = "nothing_measured" // at any value
)

// narrow returns the runs of a study that are known. A search begins with coarse steps. When these are made, blocks
// of runs follow with what lies between the best and its neighbours, and so on. Each block has the best so far
// once more, which ties it to the others: drift between blocks moves all runs of a block.
//
// ends has why a search is over, by the values of the other factors.
func (f *Folder) narrow() (turns []Turn, ends map[string]SearchEnd, err error) {
	s := f.Study
	turns = s.Turns()
	if s.searched() == nil {
		return turns, nil, nil
	}
	for made := s.Repeats; ; made += s.Repeats {
		if slices.ContainsFunc(turns, func(t Turn) bool { return !f.isDone(t) }) {
			return turns, ends, nil
		}
		d := &Document{Study: s}
		if err := d.read(f, turns); err != nil {
			return nil, nil, err
		}
		var cells []Cell
		if cells, ends, err = d.next(); err != nil || len(cells) == 0 {
			return turns, ends, err
		}
		for _, t := range s.blocks(cells, made) {
			t.Number = len(turns) + 1
			turns = append(turns, t)
		}
	}
}

// next returns the cells of the next blocks: none when every search is over.
func (d *Document) next() (cells []Cell, ends map[string]SearchEnd, err error) {
	factor := d.Study.searched()
	span, err := factor.Search.steps()
	if err != nil {
		return nil, nil, err
	}
	ends = make(map[string]SearchEnd)
	index := len(d.Cells)
	for _, group := range d.groups(factor.Name) {
		r, err := d.rank(group, factor.Name, d.Study.searchedBy())
		if err != nil {
			return nil, nil, err
		}
		if r.best < 0 {
			ends[group[0].key(factor.Name)] = EndNothing
			continue
		}
		best := slices.Index(group, r.cells[r.best])
		tried, alike := make([]int64, len(group)), make([]bool, len(group))
		for i, c := range group {
			tried[i] = amount(c.At[factor.Name])
			at := slices.Index(r.cells, c)
			alike[i] = at >= 0 && r.standings[at].Alike
		}
		values, end := span.next(tried, alike, best, factor.Search.Fine == "")
		if end != "" {
			ends[group[0].key(factor.Name)] = end
			continue
		}
		cells = append(cells, group[best].cell)
		for _, v := range values {
			cells = append(cells, group[best].cell.with(factor.Name, v.String(), index))
			index++
		}
	}
	return cells, ends, nil
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
	for i := range a.At {
		x, y := a.At[i].Value, b.At[i].Value
		switch {
		case x == y || s.searched() == nil:
		case s.Factors[i].Search != nil:
			return cmp.Compare(amount(x), amount(y))
		default:
			return cmp.Compare(slices.Index(s.Factors[i].Values, x), slices.Index(s.Factors[i].Values, y))
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

// checkSearch refuses a search that cannot be made.
func (s *Study) checkSearch(bad func(part, format string, args ...any)) {
	f := s.searched()
	if f == nil {
		return
	}
	if _, err := f.Search.steps(); err != nil && !f.Search.isOpen() {
		bad("factor "+f.Name, "%s: search %w", f.Name, err)
	}
	for _, other := range s.Factors {
		if other.Search != nil && other.Name != f.Name {
			bad("factor "+other.Name, "%s: a study searches one factor, and this one searches %s; list the values of one of them", other.Name, f.Name)
		}
	}
	if s.Pair {
		bad("pair", "%s: values that are searched have no pairs; leave pair out", f.Name)
	}
	if s.searchedBy() == "" {
		bad("factor "+f.Name, "%s: a search needs a question for the best value: add ask: [{best: %s, by: throughput}]", f.Name, f.Name)
	}
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
