package plan

import (
	"errors"
	"regexp"
)

// runName is a name that fits into a list, a table and the name of a file, and cannot
// be taken for a flag or a hidden file.
var runName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$`)

// CheckName returns an error unless a run, a host or a tag may be called that: in 1 to 64 ASCII
// letters, digits, '.', '_' or '-', of which the first is a letter or a digit. Where a
// name may be missing, that is for the caller to know.
func CheckName(name string) error {
	if !runName.MatchString(name) {
		return errors.New("a name has 1 to 64 letters, digits, '.', '_' or '-', and begins with a letter or a digit")
	}
	return nil
}

// maxTags is how many tags a run may have: they stand in one line of a table.
const maxTags = 8

// CheckTags returns an error unless a run may have these tags.
func CheckTags(tags []string) error {
	if len(tags) > maxTags {
		return Refuse("tag", nil, "there are %d, and a run has %d at most", len(tags), maxTags)
	}
	for _, tag := range tags {
		if err := CheckName(tag); err != nil {
			return Refuse("tag", tag, "%w", err)
		}
	}
	return nil
}
