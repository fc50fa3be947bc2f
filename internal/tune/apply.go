package tune

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// ApplyOptions are how changes are made. The zero value makes them now and lasting.
type ApplyOptions struct {
	Runtime bool      // now
	Persist bool      // in kt's own files, which are read when something starts; neither: both
	Time    time.Time // that the journal notes; zero: now
}

// Now tells that the running machine is to be changed.
func (o ApplyOptions) Now() bool { return o.Runtime || !o.Persist }

// Later tells that kt's own files are to be written.
func (o ApplyOptions) Later() bool { return o.Persist || !o.Runtime }

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

// Apply makes changes, each for itself: one that fails leaves the others alone, and is not in the journal if it left nothing
// behind. What somebody else set since an earlier Apply counts as what was there before kt. An error means that nothing was changed.
//
// The journal comes first, then the kernel gets the values, and last come kt's own files: what the kernel refuses, or what
// brings the machine down, must not be set again at its next start.
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
			t.dropFolders(append([]string{JournalFolder}, made...))
		}
		return nil, err
	}
	a.setAll()
	a.forgetUnmade()
	if o.Later() {
		a.checkLasting()
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
	stale    bool // the journal on the disk says something else
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

// begin looks at the machine, and writes into the journal what is going to be changed.
func (a *application) begin(made []string) (err error) {
	if a.journal, err = a.readJournal(); err != nil {
		return err
	}
	if a.options.Later() {
		if err := a.checkOwn(); err != nil {
			return err
		}
	}
	for i := range a.outcomes {
		if err := a.addStep(&a.outcomes[i]); err != nil {
			a.outcomes[i].State, a.outcomes[i].Err = Failed, err
		}
	}
	a.journal.addFolders(made)
	if len(a.steps) == 0 {
		return nil
	}
	return a.saveJournal(a.journal)
}

func (j *journal) addFolders(dirs []string) {
	for _, d := range dirs {
		if !slices.Contains(j.Folders, d) {
			j.Folders = append(j.Folders, d)
		}
	}
}

// addStep reads the value that a change is about, and adds a step to set it if it is to become another one.
func (a *application) addStep(o *Outcome) error {
	c := &o.Change
	// For later only, the value of now is noted too: after the next start it is kt's,
	// and is to be put back. A process or a mount does not last until then.
	if c.Kind == KeepOnly || !a.options.Now() && (c.Kind != WriteFile || len(c.Keep) == 0) {
		return nil
	}
	s := setStep{outcome: o, subject: subject{Kind: c.Kind, Path: c.Path, PID: c.PID, Start: c.Start, Disk: a.diskName(c.Path)}}
	var err error
	if s.was, s.pairWas, err = a.readPair(s.subject); err != nil {
		return err
	}
	if s.was == "" {
		return fmt.Errorf("%s is empty: there is no old value to restore", c.Path)
	}
	if c.Kind == WriteFile { // what kt could not put back: the journal would be refused with it
		err = checkHolds(c.Path, s.was)
	}
	if pair := otherOfPair(c.Path); err == nil && pair != "" {
		err = checkHolds(pair, s.pairWas)
	}
	if err != nil {
		return err
	}
	if s.was == normal(c.New) {
		o.State = Unchanged
		if e := a.journal.entry(s.subject); e != nil && !slices.Equal(e.Lines, c.Keep) {
			e.Lines, a.stale = c.Keep, true // what was noted is of another value
		}
		return nil
	}
	if old := normal(c.Old); old != "" && old != s.was {
		return fmt.Errorf("%s was %q when kt read it and is %q now: check again", c.Path, old, s.was)
	}
	if err := a.enter(&s); err != nil {
		return err
	}
	s.entry.Boot, s.entry.Lines = a.bootID(), c.Keep
	s.entry.write(c.Path, normal(c.New))
	a.steps = append(a.steps, s)
	return nil
}

// enter finds the journal's entry of what a step changes, or makes one: also where the value is neither kt's nor the one of before.
func (a *application) enter(s *setStep) error {
	c := &s.outcome.Change
	anew := &entry{
		Setting: c.Setting, subject: s.subject, Old: s.was, PairOld: s.pairWas,
		Beside: a.besides(c.Path), Time: a.options.Time.UTC().Truncate(time.Second),
	}
	if s.entry = a.journal.entry(s.subject); s.entry == nil {
		s.entry, s.fresh = anew, true
		a.journal.Entries = append(a.journal.Entries, anew)
		return nil
	}
	now, pair, err := a.readPair(s.entry.subject)
	if err != nil {
		return err
	}
	byKernel := slices.ContainsFunc(a.journal.Entries, func(e *entry) bool { // when kt wrote another value
		return slices.ContainsFunc(e.Beside, func(b besideValue) bool { return b.Path == c.Path })
	})
	if !s.entry.isOld(now, pair) && !s.entry.isOurs(now, pair) && !byKernel {
		*s.entry = *anew
	}
	return nil
}

// setAll gives the kernel the values that are noted.
func (a *application) setAll() {
	if !a.options.Now() {
		return
	}
	for again := range 2 { // a change may have undone one before it, so those that were made are made again
		for _, s := range a.steps {
			if s.outcome.State == Failed {
				continue
			}
			if state, err := a.setOne(s); again == 0 || err != nil {
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
		err = errors.Join(err, a.saveJournal(a.journal), a.putBack(s.subject, s.was, s.pairWas))
	}
	if err != nil {
		return Failed, err
	}
	return Applied, nil
}

// putBack gives a value that was there. Of a pair it writes the one that was not 0, which makes the other 0.
func (t *Tree) putBack(s subject, old, pairOld string) error {
	if pair := otherOfPair(s.Path); pair != "" && old == "0" {
		return t.set(subject{Kind: WriteFile, Path: pair}, pairOld)
	}
	return t.set(s, old)
}

// forgetUnmade takes out of the journal what this Apply put in and could not change: there is nothing to put back.
func (a *application) forgetUnmade() {
	for _, s := range a.steps {
		if s.fresh && s.outcome.State == Failed && a.isOld(s.entry) {
			a.journal.Entries = slices.DeleteFunc(a.journal.Entries, func(e *entry) bool { return e == s.entry })
			a.stale = true
		}
	}
}

// finish removes an empty journal. If writing it again fails, what stays in it is as it was before kt.
func (a *application) finish() {
	switch j := a.journal; {
	case len(j.Entries) == 0 && len(j.Files) == 0:
		_ = a.dropJournal(j)
	case a.stale:
		_ = a.saveJournal(a.journal)
	}
}
