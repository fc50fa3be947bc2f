package study

import "slices"

// Sequence returns the runs of a study in their order, as far as they are known. It depends on nothing
// but the study and the runs that were made, so a study that was cut off goes on as it would have.
func (f *Folder) Sequence() ([]Turn, error) {
	if f.Study.Find != nil {
		_, turns, _, err := f.trials()
		return turns, err
	}
	return f.Study.Turns(), nil
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

// cellsOf returns the cells of some turns, each once, in the order of their numbers.
func cellsOf(turns []Turn) (cells []Cell) {
	for _, t := range turns {
		if !slices.ContainsFunc(cells, func(c Cell) bool { return c.Index == t.Cell.Index }) {
			cells = append(cells, t.Cell)
		}
	}
	slices.SortFunc(cells, func(a, b Cell) int { return a.Index - b.Index })
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
		all = append(all, one)
	}
	if f.read == nil {
		f.read = make(map[int][]LoadFigures)
	}
	f.read[t.Number] = all
	return all, nil
}
