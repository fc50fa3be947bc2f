package security

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/secret"
)

// module is a login module of sasl.jaas.config with its options.
type module struct {
	name    string // without its package: PlainLoginModule
	options map[string]secret.Text
}

// option returns the value of an option; "" when it is not given.
func (m module) option(name string) string { return m.options[name].Reveal() }

// is reports whether an option is the word true.
func (m module) is(name string) bool { return strings.EqualFold(m.option(name), "true") }

// parseJAAS reads sasl.jaas.config:
//
//	CLASS required NAME="value" NAME='value' NAME=value;
//
// It follows Kafka's JaasConfig and its java.io.StreamTokenizer: comments, escapes in quotes, and
// that a word that begins with a digit is a number, and no value. Its errors show no value, which
// may be a secret.
func parseJAAS(text string) (module, error) {
	t := tokenizer{rest: string([]rune(text))}
	kind, class := t.next()
	if kind == end {
		return module{}, errors.New("it is empty: begin with the class of a login module")
	}
	m := module{name: class[strings.LastIndex(class, ".")+1:], options: make(map[string]secret.Text)}
	if kind != word || !slices.Contains(modules, m.name) {
		return m, fmt.Errorf("it must begin with a login module: %s", strings.Join(modules, ", "))
	}
	flags := []string{"required", "requisite", "sufficient", "optional"} // which mean the same for one module
	switch kind, flag := t.next(); {
	case kind != word:
		return m, fmt.Errorf("a word is missing behind %s: write required", m.name)
	case !slices.Contains(flags, strings.ToLower(flag)):
		return m, fmt.Errorf("the word behind %s must be required, requisite, sufficient or optional", m.name)
	}
	for last := m.name; ; {
		kind, name := t.next()
		switch kind {
		case end:
			return m, errors.New("a semicolon is missing at the end")
		case ";":
			if kind, _ := t.next(); kind != end {
				return m, errors.New("there is more behind the semicolon: a client has one login module; put a value with a semicolon in double quotes")
			}
			return m, nil
		case word:
		default:
			return m, fmt.Errorf("the name of an option is expected behind %s: put values with special characters in double quotes", last)
		}
		if kind, _ := t.next(); kind != "=" {
			return m, fmt.Errorf("= is missing behind an option, after %s: put values with spaces in double quotes", last)
		}
		kind, value := t.next()
		if kind != word {
			return m, fmt.Errorf("option %s has no value that Java reads: put it in double quotes", name)
		}
		last, m.options[name] = "option "+name, secret.Cover(value)
		if !public.MatchString(name) {
			secret.Learn(value)
		}
	}
}

// public matches the options that are no secrets.
var public = regexp.MustCompile(`^(?:use|aws|extension_|unsecuredLogin|ssl\.truststore\.location|(?:serviceName|keyTab|principal|ticketCache|storeKey|debug|tokenauth|clientId|scope)$)`)

// Kinds of tokens beside "=" and ";".
const (
	end   = ""
	word  = "word"
	other = "other" // a number, or a character without a meaning
)

// tokenizer does what a java.io.StreamTokenizer does, as Kafka sets one up.
type tokenizer struct{ rest string }

var (
	// A slash alone begins a comment too.
	space = regexp.MustCompile(`^(?:[\x00- ]|/\*(?s:.*?)(?:\*/|\z)|/[^\n\r]*)*`)
	// Text in quotes ends with the line. Java leaves out the characters from 128 to 159.
	piece = regexp.MustCompile(`^(?:([=;])|["]((?:\\(?s:.)|[^"\n\r])*)["]?|[']((?:\\(?s:.)|[^'\n\r])*)[']?|` +
		`([a-zA-Z_$\x{a0}-\x{10ffff}][\w$.\x{a0}-\x{10ffff}-]*)|[\d.-][\w$.\x{a0}-\x{10ffff}-]*|(?s:.))`)
	// What stands behind a backslash: up to three octal digits with a value below 256, a letter of C, or the character itself.
	escape = regexp.MustCompile(`\\(?:[0-3][0-7]{0,2}|[4-7][0-7]?|(?s:.))`)
)

func (t *tokenizer) next() (kind, text string) {
	t.rest = t.rest[len(space.FindString(t.rest)):]
	if t.rest == "" {
		return end, ""
	}
	at := piece.FindStringSubmatchIndex(t.rest)
	part := func(i int) string { return t.rest[at[2*i]:at[2*i+1]] }
	defer func() { t.rest = t.rest[at[1]:] }()
	switch {
	case at[2] >= 0:
		return part(1), ""
	case at[4] >= 0:
		return word, escape.ReplaceAllStringFunc(part(2), unescape)
	case at[6] >= 0:
		return word, escape.ReplaceAllStringFunc(part(3), unescape)
	case at[8] >= 0:
		return word, part(4)
	}
	return other, ""
}

func unescape(sequence string) string {
	if n, err := strconv.ParseUint(sequence[1:], 8, 8); err == nil {
		return string(rune(n))
	}
	if i := strings.Index("abfnrtv", sequence[1:]); i >= 0 {
		return "\a\b\f\n\r\t\v"[i : i+1]
	}
	return sequence[1:]
}
