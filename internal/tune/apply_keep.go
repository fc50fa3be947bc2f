package tune

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
)

// checkLasting tells what will not last. It fails the changes that allow more open files, from the next start on, than fs.nr_open lets anybody have.
func (a *application) checkLasting() {
	most, ok := a.nrOpen()
	for i := range a.outcomes {
		o := &a.outcomes[i]
		if o.State == Failed && len(o.Change.Keep) > 0 && !errors.Is(o.Err, errEnded) {
			o.Err = fmt.Errorf("%w; kt does not write it for the next start either, because the kernel may refuse it again (--persist alone writes it)", o.Err)
		}
		for _, l := range o.Change.Keep {
			p, limit := setBy(l)
			if n, _, err := parseLimits(limit); ok && p == anyLimits && err == nil && n > most {
				o.State = Failed
				o.Err = fmt.Errorf("%q is above fs.nr_open, which is %d: the kernel would refuse it; raise fs.nr_open first", l.Text, most)
			}
		}
	}
}

const nrOpenFile = "/proc/sys/fs/nr_open"

// nrOpen is fs.nr_open: what it is now or, if nothing is to be changed now, what it will be by kt's own lines, where that is
// more. It is not ok where it is not told.
func (a *application) nrOpen() (most int64, ok bool) {
	text, err := a.value(subject{Kind: WriteFile, Path: nrOpenFile})
	if err == nil {
		most, err = strconv.ParseInt(text, 10, 64)
	}
	if err != nil || a.options.Now() {
		return most, err == nil
	}
	var lines []Line
	if f := a.journal.file(SysctlFile); f != nil {
		lines = slices.Clone(f.Lines)
	}
	for _, o := range a.outcomes {
		if o.State != Failed {
			lines = append(lines, o.Change.Keep...)
		}
	}
	for _, l := range lines {
		p, value := setBy(l)
		if n, err := strconv.ParseInt(value, 10, 64); p == nrOpenFile && err == nil {
			most = max(most, n)
		}
	}
	return most, true
}

// keepAll brings kt's own files up to date with the changes that did not fail.
func (a *application) keepAll() {
	var lasting []Change
	for i := range a.outcomes {
		// What the kernel refuses now it may refuse at the next login or start, too, and
		// that would fail with it.
		if o := &a.outcomes[i]; o.State != Failed && len(o.Change.Keep) > 0 {
			lasting = append(lasting, o.Change)
		}
	}
	before := slices.Clone(a.journal.Files)
	files := a.journal.merge(lasting)
	for _, f := range files {
		a.journal.addFolders(a.missing(path.Dir(f.Path)))
		if sum := sha256Of(f.content(ownHeader)); !slices.Contains(f.Sums, sum) {
			f.Sums = append(f.Sums, sum)
		}
	}
	if len(files) == 0 {
		return
	}
	if err := a.saveJournal(a.journal); err != nil {
		a.told("", Failed, err)
		a.journal.Files, a.stale = before, false // what is not made is not to be noted later, either
		return
	}
	for _, f := range files {
		changed, err := a.putOwn(f)
		state := Unchanged
		switch {
		case err != nil:
			state, err = Failed, fmt.Errorf("it will not last: %w", err)
			if text, bad := a.ownText(f.Path, f); text == "" && bad == nil && !slices.Contains(before, f) {
				a.journal.Files = slices.DeleteFunc(a.journal.Files, func(o *ownFile) bool { return o == f })
				a.stale = true
			}
		case changed:
			state = Kept
		}
		a.told(f.Path, state, err)
	}
}

// told sets what became of the changes with a line in a file, or with any line if none is named.
func (a *application) told(file string, s State, err error) {
	for i := range a.outcomes {
		o := &a.outcomes[i]
		if !slices.ContainsFunc(o.Change.Keep, func(l Line) bool { return file == "" || l.File == file }) || o.State == Failed {
			continue
		}
		switch {
		case err != nil:
			o.State, o.Err = s, err
		case o.State == Skipped || o.State == Unchanged && s == Kept:
			o.State = s
		}
	}
}

// checkOwn refuses files that would be kt's own and are somebody else's.
func (a *application) checkOwn() error {
	var problems []error
	var seen []string
	for _, o := range a.outcomes {
		for _, l := range o.Change.Keep {
			if slices.Contains(seen, l.File) {
				continue
			}
			seen = append(seen, l.File)
			if _, err := a.ownText(l.File, a.journal.file(l.File)); err != nil {
				problems = append(problems, err)
			}
		}
	}
	return errors.Join(problems...)
}
