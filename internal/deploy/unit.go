package deploy

import (
	"io"
	"strings"
)

// Unit is a systemd unit of an agent.
type Unit struct {
	Words   []string // the command line
	Key     string   // the path of the key file; "": the agent has no key
	Results string   // the path of the folder for results; "": the one in /var/lib
}

// Write writes the unit.
func (u Unit) Write(w io.Writer) error { return write(w, "kt-agent.service", u) }

// ExecStart returns the command line as systemd takes it.
func (u Unit) ExecStart() string {
	quoted := make([]string, len(u.Words))
	for i, word := range u.Words {
		quoted[i] = quoteUnit(word)
	}
	return strings.Join(quoted, " ")
}

// ReadWritePaths returns the folder for results as systemd takes it: it replaces no variables in paths.
func (u Unit) ReadWritePaths() string { return strings.ReplaceAll(quoteUnit(u.Results), "$$", "$") }

// quoteUnit returns a word as systemd takes it.
func quoteUnit(word string) string {
	word = strings.NewReplacer(`%`, `%%`, `$`, `$$`, `\`, `\\`, `"`, `\"`).Replace(word)
	if strings.ContainsAny(word, " \t'\"\\;") || word == "" {
		return `"` + word + `"`
	}
	return word
}
