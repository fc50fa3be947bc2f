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

	"golang.org/x/sys/unix"
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

// lineName is what a line is about, without the value: of two lines of one name the
// later one takes the place of the earlier. The ratio and the bytes of a dirty limit
// are one.
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

// content is the file as it is to be: lines without a head first, then every head
// with its lines.
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

// merge puts the lines of changes into the journal's files, in place of earlier lines
// about the same. It returns the files that are concerned.
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

// isThere tells that a file is there, whoever made it, or may be.
func (t *Tree) isThere(p string) bool {
	folder, err := t.folder(path.Dir(p))
	if err == nil {
		defer func() { _ = folder.Close() }() // nothing was written
		var s unix.Stat_t
		err = unix.Fstatat(int(folder.Fd()), path.Base(p), &s, unix.AT_SYMLINK_NOFOLLOW)
	}
	return !errors.Is(err, fs.ErrNotExist)
}

// openFilesOf is the number of open files that a line allows; 0 for a line about
// something else, and for one without a number.
func openFilesOf(l Line) int64 {
	words := strings.FieldsFunc(l.Text, func(r rune) bool { return strings.ContainsRune(" \t=:", r) }) // "LimitNOFILE=SOFT:HARD"
	if l.File == SysctlFile || !strings.Contains(strings.ToLower(l.Text), "nofile") {
		return 0
	}
	n, _ := strconv.ParseInt(words[len(words)-1], 10, 64) // 0 for no number
	return n
}

// ownText is the text of one of kt's own files, "" for one that is not there. It is
// an error if somebody else wrote it.
func (t *Tree) ownText(p string, known *ownFile) (string, error) {
	f, err := t.openOwn(p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case errors.Is(err, errNoRegular):
		return "", fmt.Errorf("%s %w", p, errForeign)
	}
	text := ""
	if err == nil {
		text, err = textOf(f)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", p, withoutPath(err))
	}
	switch {
	case !strings.HasPrefix(text, "# Managed by kt tune"):
		return "", fmt.Errorf("%s %w", p, errForeign)
	case known != nil && slices.Contains(known.Sums, sha256Of(text)):
		return text, nil
	case known == nil && sumHolds(text):
		return "", fmt.Errorf("%s %w", p, errOther)
	}
	return "", fmt.Errorf("%s %w", p, errEdited)
}

// openOwn opens one of kt's own files.
func (t *Tree) openOwn(p string) (*os.File, error) {
	folder, err := t.folder(path.Dir(p))
	if err != nil {
		return nil, err
	}
	defer func() { _ = folder.Close() }() // nothing was written
	return openRegular(folder, p)
}

// sumHolds tells that a file's second line is the sum of the rest.
func sumHolds(text string) bool {
	_, rest, _ := strings.Cut(text, "\n")
	second, rest, _ := strings.Cut(rest, "\n")
	return second == sumPrefix+sha256Of(rest)
}

// putOwn makes one of kt's own files as the journal has it. changed tells that it
// was not so already.
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
	return true, t.put(f.Path, []byte(content), 0o644)
}

// dropOwn removes one of kt's own files, an edited one only if force is set. What is
// somebody else's is left.
func (t *Tree) dropOwn(f *ownFile, force bool) (State, error) {
	if err := t.drop(beside(f.Path)); err != nil {
		return Failed, err
	}
	text, err := t.ownText(f.Path, f)
	switch {
	case errors.Is(err, errForeign) && force:
		return Drifted, fmt.Errorf("%s %w", f.Path, errForgot)
	case errors.Is(err, errForeign), errors.Is(err, errEdited) && !force:
		return Drifted, err
	case err != nil && !errors.Is(err, errEdited):
		return Failed, err
	case err == nil && text == "":
		return Already, nil
	}
	if err := t.drop(f.Path); err != nil {
		return Failed, err
	}
	return Restored, nil
}
