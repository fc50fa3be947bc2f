package cluster

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kt-bench/kt/internal/cluster/gossip"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/secret"
)

// checkName returns an error if a name of a host, a run or an epoch cannot be part of a file name.
func checkName(name string) error {
	if err := plan.CheckName(name); err != nil {
		return fmt.Errorf("%q: %w", clean(name, 64), err)
	}
	return nil
}

// clean makes a peer's text safe for a terminal. It returns one line of up to most bytes without
// control and formatting characters.
func clean(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case unicode.Is(unicode.C, r) || r == utf8.RuneError || r == '\u2028' || r == '\u2029':
			return -1
		}
		return r
	}, secret.Scrub(text))
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

// oneLine returns the text of an error as clean does, with "; " between joined errors.
func oneLine(err error, most int) string {
	return clean(strings.ReplaceAll(err.Error(), "\n", "; "), most)
}

// cleanTexts cleans all texts of an answer, which v points to.
func cleanTexts(v any, most int) { walk(reflect.ValueOf(v), most) }

func walk(v reflect.Value, most int) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			walk(v.Elem(), most)
		}
	case reflect.String:
		v.SetString(clean(v.String(), most))
	case reflect.Slice:
		for i := range v.Len() {
			walk(v.Index(i), most)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				walk(v.Field(i), most)
			}
		}
	default:
	}
}

// Info describes an agent.
type Info struct {
	Name    string   `json:"name"`
	Role    string   `json:"role"` // "broker" or "client"
	Version string   `json:"version"`
	Tags    []string `json:"tags,omitempty"`

	// Security is the protocol and the mechanism of its connections to Kafka, without credentials; "": not known.
	Security string `json:"security,omitempty"`
}

// check returns an error if the name, the role or a tag of an agent is not valid.
func (i Info) check() error {
	if i.Role != "broker" && i.Role != "client" {
		return fmt.Errorf("--role %q: it must be broker or client", i.Role)
	}
	return gossip.Info{Name: i.Name, Role: i.Role, Tags: i.Tags}.Check()
}
