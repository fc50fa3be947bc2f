package study

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Turn is one run of a study.
type Turn struct {
	Number int // from 1, in the order of the runs
	Cell   Cell
	Repeat int // the block that it is in, from 1; 0: it does not count
}

// Turns returns the runs in their order: those that do not count, which are the first ones of the study
// once more, and then block after block, each with every cell once.
func (s *Study) Turns() []Turn {
	turns := s.blocks(s.Cells(), 0)
	var before []Turn
	for i := range s.Discard {
		before = append(before, Turn{Cell: turns[i%len(turns)].Cell})
	}
	turns = append(before, turns...)
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

// Sequence returns the runs of a study in their order, as far as they are known. It depends on nothing
// but the study and the runs that were made, so a study that was cut off goes on as it would have.
func (f *Folder) Sequence() ([]Turn, error) {
	switch {
	case f.Study.Find != nil:
		_, turns, _, err := f.trials()
		return turns, err
	case f.Study.Trial != nil:
		_, turns, err := f.trial()
		return turns, err
	}
	turns, _, err := f.narrow()
	return turns, err
}

// next returns the first run that is not made, and how many runs are known; ok is false when all are made.
func (f *Folder) next() (t Turn, known int, ok bool, err error) {
	turns, err := f.Sequence()
	if err != nil {
		return Turn{}, 0, false, err
	}
	if i := slices.IndexFunc(turns, func(t Turn) bool { return !f.isDone(t) }); i >= 0 {
		return turns[i], len(turns), true, nil
	}
	return Turn{}, len(turns), false, nil
}

// cellsOf returns the cells of some turns, each once, in their order.
func (s *Study) cellsOf(turns []Turn) (cells []Cell) {
	for _, t := range turns {
		if !slices.ContainsFunc(cells, func(c Cell) bool { return c.Index == t.Cell.Index }) {
			cells = append(cells, t.Cell)
		}
	}
	slices.SortFunc(cells, s.order)
	return cells
}

// figures returns the figures of the loads of a turn that was made. It reads each run file once.
func (f *Folder) figures(t Turn) ([]LoadFigures, error) {
	if known := f.read[t.Number]; known != nil {
		return known, nil
	}
	var all []LoadFigures
	for _, l := range f.Study.Loads {
		one, err := f.readRun(t, l)
		if err != nil {
			return nil, err
		}
		for _, turn := range f.read {
			if i := slices.IndexFunc(turn, func(o LoadFigures) bool { return one.isOf(&o) }); i >= 0 {
				return nil, fmt.Errorf("study %s: %s is the same run as %s: put the file of its own run back", f.ID, one.File, turn[i].File)
			}
		}
		all = append(all, one)
	}
	if f.read == nil {
		f.read = make(map[int][]LoadFigures)
	}
	f.read[t.Number] = all
	return all, nil
}
