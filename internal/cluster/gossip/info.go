package gossip

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Info describes an agent: what stays as it is from its start to its end. Its encoded form is without the name, which
// memberlist sends.
type Info struct {
	Name string   `json:"-"`           // unique in the network: up to 64 letters, digits, dots, dashes and underscores
	Role string   `json:"r,omitempty"` // "broker", "client" or ""
	Tags []string `json:"t,omitempty"` // up to 16, of 32 such characters each
}

// Bounds in bytes of the data of a peer. All together must fit metaLimit.
const (
	nameLimit  = 64
	roleLimit  = 16
	tagLimit   = 32
	tagsLimit  = 16 // tags
	startLimit = 8

	metaLimit = 512 // memberlist's MetaMaxSize
)

// meta is what an agent sends of itself. Unknown fields of later versions of kt are ignored, so
// that their agents are listed too.
type meta struct {
	Info
	Start string `json:"s,omitempty"` // random, of one start of the agent
}

// encode returns the data to send with the name. Its errors name the flags.
func (i Info) encode(start string) ([]byte, error) {
	if err := i.Check(); err != nil {
		return nil, err
	}
	data, err := json.Marshal(meta{i, start})
	if err != nil {
		return nil, fmt.Errorf("encode the description of this agent: %w", err)
	}
	if len(data) > metaLimit {
		return nil, fmt.Errorf("--tags: the description of this agent takes %d bytes, at most %d are allowed: give fewer or shorter tags", len(data), metaLimit)
	}
	return data, nil
}

// decode decodes and checks the data of a peer.
func decode(name string, data []byte) (Info, error) {
	if len(data) > metaLimit {
		return Info{}, fmt.Errorf("%d bytes of at most %d", len(data), metaLimit)
	}
	var m meta
	if err := json.Unmarshal(data, &m); err != nil {
		return Info{}, fmt.Errorf("decode the description of an agent: %w", err)
	}
	m.Name = name
	return m.Info, m.Check()
}

// startOf returns the start in the data of an agent, or "".
func startOf(data []byte) string {
	var m meta
	if json.Unmarshal(data, &m) != nil || !isWord(m.Start, startLimit) {
		return ""
	}
	return m.Start
}

// Check returns all problems of an info.
func (i Info) Check() error {
	var errs []error
	if !isWord(i.Name, nameLimit) {
		errs = append(errs, fmt.Errorf("--name: %q is no name of an agent: 1 to %d letters, digits, dots, dashes and underscores, the first a letter or a digit", cut(i.Name, nameLimit), nameLimit))
	}
	if i.Role != "" && !isWord(i.Role, roleLimit) {
		errs = append(errs, fmt.Errorf("--role: %q is no role", cut(i.Role, roleLimit)))
	}
	if len(i.Tags) > tagsLimit {
		errs = append(errs, fmt.Errorf("--tags: %d of at most %d tags", len(i.Tags), tagsLimit))
	}
	for _, t := range i.Tags {
		if !isWord(t, tagLimit) {
			errs = append(errs, fmt.Errorf("--tags: %q is no tag: 1 to %d letters, digits, dots, dashes and underscores, the first a letter or a digit", cut(t, tagLimit), tagLimit))
		}
	}
	return errors.Join(errs...)
}

// isWord reports whether a name has only ASCII letters, digits, dots, dashes and underscores, so
// that lists, file names and tables can contain it.
func isWord(s string, limit int) bool {
	letter := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	}
	if s == "" || len(s) > limit || !letter(rune(s[0])) {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return !letter(r) && !strings.ContainsRune(".-_", r)
	})
}

// cut shortens a text to at most limit bytes, without splitting a character.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
