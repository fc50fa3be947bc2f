package cluster

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kt-bench/kt/internal/cluster/gossip"
	"github.com/kt-bench/kt/internal/plan"
)

// checkName returns an error unless a host, a run or an epoch may be called that: their names become
// part of file names.
func checkName(name string) error {
	if err := plan.CheckName(name); err != nil {
		return fmt.Errorf("%q: %w", clean(name, 64), err)
	}
	return nil
}

// clean returns a peer's text as a terminal may get it: in one line, without control and
// formatting characters, and at most so many bytes long.
func clean(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case unicode.Is(unicode.C, r) || r == utf8.RuneError || r == '\u2028' || r == '\u2029':
			return -1
		}
		return r
	}, text)
	text = strings.TrimSpace(text)
	if len(text) <= most {
		return text
	}
	cut := most - len("…")
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// Info is what an agent says of its host.
type Info struct {
	Name    string   `json:"name"`
	Role    string   `json:"role"` // "broker" or "client"
	Version string   `json:"version"`
	Tags    []string `json:"tags,omitempty"`
}

// clean returns the same as far as it can be shown.
func (i Info) clean() Info {
	i.Name, i.Role, i.Version = clean(i.Name, 64), clean(i.Role, 64), clean(i.Version, 64)
	var tags []string
	for _, t := range i.Tags[:min(len(i.Tags), maxTags)] {
		tags = append(tags, clean(t, 64))
	}
	i.Tags = tags
	return i
}

// check tells what is wrong with how an agent is to be called.
func (i Info) check() error {
	if i.Role != "broker" && i.Role != "client" {
		return fmt.Errorf("--role %q: it must be broker or client", i.Role)
	}
	return gossip.Info{Name: i.Name, Role: i.Role, Version: i.Version, Tags: i.Tags}.Check()
}
