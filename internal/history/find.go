package history

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/suggest"
)

// Reference returns what a person may call the run with this number, from 0 for the newest: last, last~1, last~2.
func Reference(number int) string {
	if number == 0 {
		return "last"
	}
	return "last~" + strconv.Itoa(number)
}

// IsReference reports whether a name can only be that of a run by its number.
func IsReference(name string) bool {
	_, ok := numberOf(name)
	return ok
}

// numberOf returns the number of a reference.
func numberOf(name string) (number int, ok bool) {
	if name == "last" {
		return 0, true
	}
	digits, ok := strings.CutPrefix(name, "last~")
	if !ok || digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	number, err := strconv.Atoi(digits)
	return number, err == nil
}

// Find returns the path of the run that a name means, among the paths of run files, the newest first. A name is a
// reference, the name of a run file with or without Ext, or the beginning of the name of one run alone.
func Find(paths []string, name string) (string, error) {
	if number, ok := numberOf(name); ok {
		switch n := len(paths); {
		case n == 0:
			return "", fmt.Errorf("%s: no run is kept here yet: make one with kt produce", name)
		case number >= n:
			return "", fmt.Errorf("%s: the oldest run is %s; kt runs lists them", name, Reference(n-1))
		}
		return paths[number], nil
	}
	var begin, names []string
	for _, path := range paths {
		run := nameOf(path)
		if names = append(names, run); run == strings.TrimSuffix(name, Ext) {
			return path, nil
		}
		if name != "" && strings.HasPrefix(run, name) {
			begin = append(begin, path)
		}
	}
	switch {
	case len(begin) == 1:
		return begin[0], nil
	case len(begin) > 1:
		return "", fmt.Errorf("%s: %d runs begin so, as %s and %s; give more of the name", name, len(begin), nameOf(begin[0]), nameOf(begin[1]))
	}
	return "", &UnknownError{Name: name, instead: suggest.Hint(name, names, listed)}
}

// UnknownError is the error of a name that no run has.
type UnknownError struct {
	Name    string
	instead string // what to do
}

const listed = "; kt runs lists the runs"

func (e *UnknownError) Error() string { return e.Name + ": there is no such file or run" + e.instead }

// Is makes the error one of a file that is not there.
func (e *UnknownError) Is(target error) bool { return target == os.ErrNotExist }

// nameOf returns the name of the run in a file.
func nameOf(path string) string { return strings.TrimSuffix(filepath.Base(path), Ext) }
