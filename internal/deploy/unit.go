package deploy

import (
	_ "embed"
	"fmt"
	"strings"
)

// unit is a systemd unit, whose ExecStart is still to be filled in.
//
//go:embed kt-agent.service
var unit string

// Unit returns a systemd unit that runs a command line.
func Unit(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = quoteUnit(word)
	}
	return fmt.Sprintf(unit, strings.Join(quoted, " "))
}

// quoteUnit returns a word as systemd takes it.
func quoteUnit(word string) string {
	word = strings.NewReplacer(`%`, `%%`, `$`, `$$`, `\`, `\\`, `"`, `\"`).Replace(word)
	if strings.ContainsAny(word, " \t'\"\\;") || word == "" {
		return `"` + word + `"`
	}
	return word
}
