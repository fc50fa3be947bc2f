package tune

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// OwnFile is the kind of kt's own files in what was undone and in what is held.
const OwnFile Kind = "file"

const (
	ownHeader = "# Managed by kt tune: do not edit. `kt tune --rollback` removes it.\n"
	sumPrefix = "# sha256 of what follows: "
)

// ownFile is one of kt's own files, with all lines that are to be in it.
type ownFile struct {
	Path  string `json:"path"`
	Lines []Line `json:"lines"`
	// Sums are the sha256 of all contents that kt wrote, or was about to.
	Sums []string `json:"sums"`
}

// lineName is what a line is about, without the value. The ratio and the bytes of a dirty limit are one.
func lineName(file, text string) string {
	text = strings.Join(strings.Fields(text), " ")
	before := "=" // the value
	if file == TmpfilesFile || file == LimitsFile {
		before = " "
	}
	if i := strings.LastIndex(text, before); i >= 0 {
		text = strings.TrimSpace(text[:i])
	}
	if strings.HasPrefix(text, "vm.dirty_") {
		text = strings.TrimSuffix(strings.TrimSuffix(text, "_ratio"), "_bytes")
	}
	return text
}

// content is the file as it is to be: lines without a head first.
func (f *ownFile) content(header string) string {
	var heads []string
	lines := make(map[string]string)
	for _, l := range f.Lines {
		if !slices.Contains(heads, l.Head) {
			heads = append(heads, l.Head)
		}
		lines[l.Head] += l.Text + "\n"
	}
	slices.SortStableFunc(heads, func(a, b string) int { return min(len(a), 1) - min(len(b), 1) })
	text := ""
	for _, h := range heads {
		if h != "" {
			text += h + "\n"
		}
		text += lines[h]
	}
	return header + sumPrefix + sha256Of(text) + "\n" + text
}

func sha256Of(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

// file is the journal's note of one of kt's own files; nil for none.
func (j *journal) file(p string) *ownFile {
	for _, f := range j.Files {
		if f.Path == p {
			return f
		}
	}
	return nil
}

// merge puts the lines of changes in place of earlier lines about the same. It returns the files that are concerned.
func (j *journal) merge(changes []Change) []*ownFile {
	var concerned []*ownFile
	for i := range changes {
		for _, l := range changes[i].Keep {
			f := j.file(l.File)
			if f == nil {
				f = &ownFile{Path: l.File}
				j.Files = append(j.Files, f)
			}
			name := lineName(l.File, l.Text)
			f.Lines = slices.DeleteFunc(f.Lines, func(o Line) bool { return o.Head == l.Head && lineName(l.File, o.Text) == name })
			f.Lines = append(f.Lines, l)
			if !slices.Contains(concerned, f) {
				concerned = append(concerned, f)
			}
		}
	}
	return concerned
}

// The reasons why kt leaves a file alone.
var (
	errForeign = errors.New("is not kt's: move it away, or take its lines over by hand")
	errForgot  = errors.New("is not kt's: it was left as it is, and kt has forgotten it")
	errEdited  = errors.New("was made by kt and edited since: move it away, or take kt's lines over by hand")
	errOther   = errors.New("was made by kt, but not by an --apply on this machine: remove it first")
)

// ownText is the text of one of kt's own files, "" for one that is not there. It is an error if somebody else wrote it.
func (t *Tree) ownText(p string, known *ownFile) (text string, err error) {
	folder, err := t.folder(path.Dir(p))
	if err == nil {
		var f *os.File
		if f, err = openRegular(folder, p); err == nil {
			text, err = textOf(f)
		}
		_ = folder.Close() // nothing was written
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil && !errors.Is(err, errNoRegular):
		return "", fmt.Errorf("%s: %w", p, withoutPath(err))
	case err != nil, !strings.HasPrefix(text, "# Managed by kt tune"):
		err = errForeign
	case known != nil && slices.Contains(known.Sums, sha256Of(text)):
		return text, nil
	case known == nil && sumHolds(text):
		err = errOther
	default:
		err = errEdited
	}
	return "", fmt.Errorf("%s %w", p, err)
}

// sumHolds tells that a file's second line is the sum of the rest.
func sumHolds(text string) bool {
	_, rest, _ := strings.Cut(text, "\n")
	second, rest, _ := strings.Cut(rest, "\n")
	return second == sumPrefix+sha256Of(rest)
}

// putOwn makes one of kt's own files as the journal has it.
func (t *Tree) putOwn(f *ownFile) (changed bool, err error) {
	now, err := t.ownText(f.Path, f)
	if err != nil {
		return false, err
	}
	content := f.content(ownHeader)
	if content == now {
		return false, nil
	}
	if err := t.makeFolders(path.Dir(f.Path)); err != nil {
		return false, err
	}
	return true, t.put(f.Path, []byte(content))
}

// judgeFile tells whose one of kt's own files is: Held is kt's.
func (t *Tree) judgeFile(f *ownFile) Undone {
	u := Undone{Kind: OwnFile, Path: f.Path, State: Held}
	var text string
	switch text, u.Err = t.ownText(f.Path, f); {
	case errors.Is(u.Err, errForeign), errors.Is(u.Err, errEdited):
		u.State = Drifted
	case u.Err != nil:
		u.State = Failed
	case text == "":
		u.State = Already
	}
	return u
}

// dropFiles removes kt's own files, by force also edited ones, and returns those that had to be left. Foreign ones it only forgets.
func (t *Tree) dropFiles(j *journal, force bool) (undone []Undone, left []*ownFile) {
	for _, f := range j.Files {
		u := t.judgeFile(f)
		switch foreign := errors.Is(u.Err, errForeign); {
		case foreign && force:
			u.Err = fmt.Errorf("%s %w", f.Path, errForgot)
		case u.State == Held, u.State == Drifted && force:
			u.State, u.Err = Restored, t.drop(f.Path)
		}
		if err := errors.Join(t.drop(beside(f.Path)), u.Err); err != nil && u.State != Drifted {
			u.State, u.Err = Failed, err
		}
		undone = append(undone, u)
		if u.State == Failed || u.State == Drifted && !force {
			left = append(left, f)
		}
	}
	return undone, left
}

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

// nrOpen is fs.nr_open, if it is told: what it is now or, if nothing is to be changed now, what kt's own lines make of it.
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
		// What the kernel refuses now it may refuse at the next login or start, too.
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
