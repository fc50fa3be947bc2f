package tune

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ApplyOptions are how changes are made. The zero value makes them now and lasting.
type ApplyOptions struct {
	Runtime bool      // now
	Persist bool      // in kt's own files, which are read when something starts; neither: both
	Time    time.Time // that the journal notes; zero: now
}

func (o ApplyOptions) now() bool   { return o.Runtime || !o.Persist }
func (o ApplyOptions) later() bool { return o.Persist || !o.Runtime }

// State is what became of a change, or of undoing one.
type State string

// The states of a change.
const (
	Applied   State = "applied"   // made, and read back
	Kept      State = "kept"      // only its lines were written: now was not asked for, or is as wanted
	Unchanged State = "unchanged" // is as wanted already
	Skipped   State = "skipped"   // not of what was asked for: now, or lasting
	Failed    State = "failed"
)

// Outcome is what became of a change.
type Outcome struct {
	Change Change `json:"change"`
	State  State  `json:"state"`
	Err    error  `json:"-"` // why it failed
}

// Apply makes changes, each for itself: one that fails leaves the others alone. An
// error means that nothing was changed: the changes contradict each other, a file
// that would be kt's own is somebody else's, the journal is broken or could not be
// written, or another kt is at work.
//
// What somebody else set since an earlier Apply counts as what was there before kt. A
// change that fails, and left nothing behind, is not in the journal.
//
// The journal comes first. Then the kernel gets the values, and last come kt's own
// files: what the kernel refuses, or what brings the machine down, must not be set
// again at its next start.
func (t *Tree) Apply(changes []Change, o ApplyOptions) ([]Outcome, error) {
	if err := checkChanges(changes); err != nil {
		return nil, err
	}
	if o.Time.IsZero() {
		o.Time = time.Now()
	}
	made, unlock, err := t.lock(true)
	if err != nil {
		return nil, err
	}
	defer unlock()
	a := &application{Tree: t, options: o, outcomes: make([]Outcome, len(changes))}
	for i, c := range changes {
		a.outcomes[i] = Outcome{Change: c, State: Skipped}
	}
	if err := a.begin(made); err != nil {
		if a.journal == nil || a.journal.onDisk == nil {
			t.dropFolders(append(slices.Clone(journalFolders), made...))
		}
		return nil, err
	}
	a.setAll()
	a.forgetUnmade()
	if o.later() {
		a.checkOpenFiles()
		a.keepAll()
	}
	a.finish()
	return a.outcomes, nil
}

// application is one run of Apply.
type application struct {
	*Tree
	options  ApplyOptions
	journal  *journal
	outcomes []Outcome
	steps    []setStep
	forgot   bool // something was taken out of the journal that is in it on the disk
}

// setStep is a change that the kernel is to get.
type setStep struct {
	outcome *Outcome
	subject subject
	was     string // before this step
	pairWas string
	entry   *entry
	fresh   bool // the journal had no such entry before
}

// begin looks at the machine and notes what is going to be changed. Nothing but the
// journal is written.
func (a *application) begin(made []string) (err error) {
	if a.journal, err = a.readJournal(); err != nil {
		return err
	}
	if a.options.later() {
		if err := a.checkOwn(); err != nil {
			return err
		}
	}
	for i := range a.outcomes {
		if err := a.look(&a.outcomes[i]); err != nil {
			a.outcomes[i].State, a.outcomes[i].Err = Failed, err
		}
	}
	a.journal.addFolders(made)
	if len(a.steps) == 0 {
		return nil
	}
	return a.note()
}

// note writes the journal, if what it says has changed.
func (a *application) note() error {
	a.journal.Version = a.version
	return a.saveJournal(a.journal)
}

func (j *journal) addFolders(dirs []string) {
	for _, d := range dirs {
		if !slices.Contains(j.Folders, d) {
			j.Folders = append(j.Folders, d)
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

// look reads what is there of one change, and puts it into the journal if it is to
// become something else.
func (a *application) look(o *Outcome) error {
	c := &o.Change
	// For later only, the value of now is noted too: after the next start it is kt's,
	// and is to be put back. A process or a mount does not last until then.
	if c.Kind == KeepOnly || !a.options.now() && (c.Kind != WriteFile || len(c.Keep) == 0) {
		return nil
	}
	s := setStep{outcome: o, subject: a.subject(c)}
	var err error
	if s.was, err = a.value(s.subject); err != nil {
		return err
	}
	if c.Pair != "" {
		if s.pairWas, err = a.value(subject{Kind: WriteFile, Path: c.Pair}); err != nil {
			return err
		}
	}
	if s.was == normal(c.New) {
		o.State = Unchanged
		return nil
	}
	if old := normal(c.Old); old != "" && old != s.was {
		return fmt.Errorf("%s was %q when it was looked at and is %q now: check again", c.Path, old, s.was)
	}
	if err := a.enter(&s); err != nil {
		return err
	}
	s.entry.Boot, s.entry.Lines = a.bootID(), c.Keep
	s.entry.write(c.Path, normal(c.New))
	a.steps = append(a.steps, s)
	return nil
}

// enter finds the journal's entry of what a step changes, or makes one. An entry whose
// value is neither kt's nor the one of before starts anew with what is there: somebody
// wanted that, and is to have it back.
func (a *application) enter(s *setStep) error {
	c := &s.outcome.Change
	anew := &entry{
		Setting: c.Setting, subject: s.subject, Old: s.was, Pair: c.Pair, PairOld: s.pairWas,
		Beside: a.besides(c.Path), Time: a.options.Time.UTC().Truncate(time.Second),
	}
	if s.entry = a.journal.entry(s.subject); s.entry == nil {
		s.entry, s.fresh = anew, true
		a.journal.Entries = append(a.journal.Entries, anew)
		return nil
	}
	now, pair, err := a.both(s.entry)
	if err != nil {
		return err
	}
	// What changes with another value may have been set by the kernel, when kt wrote that.
	if !s.entry.isOld(now, pair) && !s.entry.isOurs(now, pair) && !a.journal.changesWithAnother(c.Path) {
		*s.entry = *anew
	}
	return nil
}

func (t *Tree) subject(c *Change) subject {
	return subject{Kind: c.Kind, Path: c.Path, PID: c.PID, Start: c.Start, Disk: t.diskName(c.Path)}
}

// setAll gives the kernel the values that are noted.
func (a *application) setAll() {
	if !a.options.now() {
		return
	}
	for _, s := range a.steps {
		s.outcome.State, s.outcome.Err = a.setOne(s)
	}
	// A change may have undone one before it, so those that were made are made again.
	for _, s := range a.steps {
		if s.outcome.State != Failed {
			if state, err := a.setOne(s); err != nil {
				s.outcome.State, s.outcome.Err = state, err
			}
		}
	}
}

func (a *application) setOne(s setStep) (State, error) {
	c := &s.outcome.Change
	// A change before this one may have made this value too.
	if now, err := a.value(s.subject); err == nil && now == normal(c.New) {
		return Unchanged, nil
	}
	err := a.set(s.subject, normal(c.New))
	var took *tookError
	if errors.As(err, &took) {
		// The journal does not know this value yet, and nobody wants it.
		s.entry.write(c.Path, took.now)
		err = errors.Join(err, a.note(), a.putBack(s.subject, s.was, c.Pair, s.pairWas))
	}
	if err != nil {
		return Failed, err
	}
	return Applied, nil
}

// putBack gives a value that was there. Of a pair the one is written that was not 0:
// writing it makes the other 0, as it was.
func (t *Tree) putBack(s subject, old, pair, pairOld string) error {
	if pair != "" && old == "0" {
		return t.set(subject{Kind: WriteFile, Path: pair}, pairOld)
	}
	return t.set(s, old)
}

// forgetUnmade takes out of the journal what this Apply put in and could not change:
// it is as it was, and there is nothing to put back. An Apply that is killed before
// this is on the disk leaves entries that a Rollback finds to be so.
func (a *application) forgetUnmade() {
	for _, s := range a.steps {
		if s.fresh && s.outcome.State == Failed && a.isOld(s.entry) {
			a.journal.Entries = slices.DeleteFunc(a.journal.Entries, func(e *entry) bool { return e == s.entry })
			a.forgot = true
		}
	}
}

// finish removes the journal if nothing is in it, and else writes it again if something
// was taken out. An error does no harm: what stays in it is as it was before kt.
func (a *application) finish() {
	switch j := a.journal; {
	case len(j.Entries) == 0 && len(j.Files) == 0:
		_ = a.dropJournal(j)
	case a.forgot:
		_ = a.note()
	}
}

// checkOpenFiles fails the changes that allow more open files, from the next start on,
// than fs.nr_open lets anybody have.
func (a *application) checkOpenFiles() {
	most, ok := a.nrOpen()
	for i := range a.outcomes {
		o := &a.outcomes[i]
		for _, l := range o.Change.Keep {
			if n := openFilesOf(l); ok && n > most {
				o.State = Failed
				o.Err = fmt.Errorf("%q is above fs.nr_open, which is %d: the kernel would refuse it; raise fs.nr_open first", l.Text, most)
			}
		}
	}
}

const nrOpenFile = "/proc/sys/fs/nr_open"

// nrOpen is fs.nr_open: what it is now or, if nothing is to be changed now, what it
// will be by kt's own lines, where that is more. It is not ok where it is not told.
func (a *application) nrOpen() (most int64, ok bool) {
	text, err := a.value(subject{Kind: WriteFile, Path: nrOpenFile})
	if err != nil {
		return 0, false
	}
	if most, err = strconv.ParseInt(text, 10, 64); err != nil {
		return 0, false
	}
	if a.options.now() {
		return most, true
	}
	var lines []string
	if f := a.journal.file(SysctlFile); f != nil {
		for _, l := range f.Lines {
			lines = append(lines, l.Text)
		}
	}
	for _, o := range a.outcomes {
		for _, l := range o.Change.Keep {
			if l.File == SysctlFile && o.State != Failed {
				lines = append(lines, l.Text)
			}
		}
	}
	for _, l := range lines {
		key, value, _ := strings.Cut(l, "=")
		if n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64); err == nil && strings.TrimSpace(key) == "fs.nr_open" {
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
	if err := a.note(); err != nil {
		a.told(func(string) bool { return true }, Failed, err)
		a.journal.Files, a.forgot = before, false // what is not made is not to be noted later, either
		return
	}
	for _, f := range files {
		changed, err := a.putOwn(f)
		in := func(p string) bool { return p == f.Path }
		switch {
		case err != nil:
			a.told(in, Failed, fmt.Errorf("it will not last: %w", err))
			if !slices.Contains(before, f) && !a.isThere(f.Path) {
				a.journal.Files = slices.DeleteFunc(a.journal.Files, func(o *ownFile) bool { return o == f })
				a.forgot = true
			}
		case changed:
			a.told(in, Kept, nil)
		default:
			a.told(in, Unchanged, nil)
		}
	}
}

// told sets what became of the changes with a line in such a file.
func (a *application) told(in func(file string) bool, s State, err error) {
	for i := range a.outcomes {
		o := &a.outcomes[i]
		if !slices.ContainsFunc(o.Change.Keep, func(l Line) bool { return in(l.File) }) || o.State == Failed {
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

// checkChanges refuses what would be a mistake of kt's own, before anything is done.
func checkChanges(changes []Change) error {
	var problems []error
	wanted := make(map[string]*Change)
	for i := range changes {
		c := &changes[i]
		if err := c.check(); err != nil {
			problems = append(problems, fmt.Errorf("change of %s: %w", c.Setting, err))
			continue
		}
		if c.Kind == KeepOnly {
			continue
		}
		key := string(c.Kind) + " " + c.Path
		if other, ok := wanted[key]; ok && normal(other.New) != normal(c.New) {
			problems = append(problems, fmt.Errorf("change of %s: %s is to become %q and, by %s, %q", c.Setting, c.Path, c.New, other.Setting, other.New))
		}
		wanted[key] = c
	}
	return errors.Join(problems...)
}

func (c *Change) check() error {
	for _, l := range c.Keep {
		if err := checkOwnPath(l.File); err != nil {
			return err
		}
		if strings.ContainsAny(l.Text+l.Head, "\n\x00") {
			return fmt.Errorf("%q is more than one line", l.Text)
		}
	}
	if strings.ContainsAny(c.New+c.Old, "\x00") || strings.Contains(c.New, "\n") {
		return fmt.Errorf("%q is more than one line", c.New)
	}
	switch c.Kind {
	case KeepOnly:
		return nil
	case WriteFile:
		if c.Pair != "" && normal(c.New) == "0" {
			return errors.New("0 is no value for one of a pair")
		}
		if normal(c.New) == "" {
			return errors.New("there is no value to write")
		}
		return errors.Join(checkValuePath(c.Path), checkPair(c.Pair))
	case Prlimit:
		if _, _, err := parseLimits(c.New); err != nil || c.PID <= 0 {
			return fmt.Errorf("%q of process %d is no limit", c.New, c.PID)
		}
		return nil
	case Remount:
		if !slices.Contains(atimes, c.New) {
			return fmt.Errorf("kt does not remount with %q", c.New)
		}
		return checkPath(c.Path)
	}
	return fmt.Errorf("there is no kind %q", c.Kind)
}

func checkPair(p string) error {
	if p == "" {
		return nil
	}
	return checkValuePath(p)
}

func checkPath(p string) error {
	control := func(r rune) bool { return r < ' ' || r == 0x7f }
	if !path.IsAbs(p) || path.Clean(p) != p || strings.ContainsFunc(p, control) {
		return fmt.Errorf("%q is no path from the root", p)
	}
	return nil
}

// checkValuePath lets kt write only where the kernel's values are.
func checkValuePath(p string) error {
	if !strings.HasPrefix(p, "/proc/sys/") && !strings.HasPrefix(p, "/sys/") {
		return fmt.Errorf("%q is no file of the kernel's", p)
	}
	return checkPath(p)
}

// checkOwnPath lets kt's own files be only in /etc, and only by names that are kt's.
func checkOwnPath(p string) error {
	if !strings.HasPrefix(p, "/etc/") || !strings.Contains(path.Base(p), "zz-kt") {
		return fmt.Errorf("%q is no place for a file of kt's", p)
	}
	return checkPath(p)
}
