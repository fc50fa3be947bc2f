package theme

import (
	"errors"
	"strings"
)

// Problems returns the lines of an error: one for each joined error, at any depth. Line breaks within an error are removed, so
// that a broker's text or a file's name cannot look like a second error.
func Problems(err error) []string {
	if err == nil || strings.TrimSpace(err.Error()) == "" { // joined errors without a text are line breaks
		return nil
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok && isJoined(err, many.Unwrap()) {
		var all []string
		for _, one := range many.Unwrap() {
			all = append(all, Problems(one)...)
		}
		return all
	}
	inner := errors.Unwrap(err)
	if inner == nil {
		return []string{Clean(err.Error())}
	}
	all := Problems(inner)
	before, after, found := strings.Cut(err.Error(), inner.Error())
	if !found || len(all) == 0 {
		return []string{Clean(err.Error())}
	}
	all[0] = Clean(before) + all[0]
	all[len(all)-1] += Clean(after)
	return all
}

// isJoined reports whether the text of err is that of its parts, each on a line, as errors.Join writes it.
func isJoined(err error, parts []error) bool {
	var texts []string
	for _, part := range parts {
		texts = append(texts, part.Error())
	}
	return err.Error() == strings.Join(texts, "\n")
}
