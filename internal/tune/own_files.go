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

// dropFiles removes kt's own files, edited ones only by force, and returns those that had to be left. By force the ones that somebody
// else put in their place are no matter of kt's any more, so that undoing comes to an end.
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
