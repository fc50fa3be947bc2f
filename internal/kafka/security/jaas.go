package security

import (
	"errors"
	"fmt"
	"regexp"
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
	t := tokenizer{rest: []rune(text)}
	class := t.next()
	if class.kind == end {
		return module{}, errors.New("it is empty: begin with the class of a login module")
	}
	m := module{name: class.text[strings.LastIndex(class.text, ".")+1:], options: make(map[string]secret.Text)}
	if class.kind != word || !isModule(m.name) {
		return m, fmt.Errorf("it must begin with a login module: %s", strings.Join(modules, ", "))
	}
	switch flag := t.next(); {
	case flag.kind != word:
		return m, fmt.Errorf("a word is missing behind %s: write required", m.name)
	case !isFlag(flag.text):
		return m, fmt.Errorf("the word behind %s must be required, requisite, sufficient or optional", m.name)
	}
	for {
		name := t.next()
		switch name.kind {
		case end:
			return m, errors.New("a semicolon is missing at the end")
		case semicolon:
			if t.next().kind != end {
				return m, errors.New("there is more behind the semicolon: a client has one login module; put a value with a semicolon in double quotes")
			}
			return m, nil
		case word:
		default:
			return m, fmt.Errorf("the name of an option is expected behind %s: put values with special characters in double quotes", t.last(m.name))
		}
		if t.next().kind != equals {
			return m, fmt.Errorf("= is missing behind an option, after %s: put values with spaces in double quotes", t.last(m.name))
		}
		value := t.next()
		if value.kind != word {
			return m, fmt.Errorf("option %s has no value that Java reads: put it in double quotes", name.text)
		}
		t.option, m.options[name.text] = name.text, secret.Cover(value.text)
		if !public.MatchString(name.text) {
			secret.Learn(value.text)
		}
	}
}

// public matches the options that are no secrets.
var public = regexp.MustCompile(`^(?:use|aws|extension_|unsecuredLogin|ssl\.truststore\.location|(?:serviceName|keyTab|principal|ticketCache|storeKey|debug|tokenauth|clientId|scope)$)`)

// isFlag reports whether a word is one of Java's control flags, which mean the same for one module.
func isFlag(word string) bool {
	switch strings.ToLower(word) {
	case "required", "requisite", "sufficient", "optional":
		return true
	}
	return false
}

type kind int

const (
	end kind = iota
	word
	equals
	semicolon
	other // a number, or a character without a meaning
)

// token is a piece of a text: a word, with its quotes taken off, or a sign.
type token struct {
	kind kind
	text string
}

// tokenizer does what a java.io.StreamTokenizer does, as Kafka sets one up.
type tokenizer struct {
	rest   []rune
	option string // the last one that was read whole
}

// last returns the option before an error, or the module when it has none.
func (t *tokenizer) last(module string) string {
	if t.option == "" {
		return module
	}
	return "option " + t.option
}

func (t *tokenizer) next() token {
	t.skip()
	if len(t.rest) == 0 {
		return token{kind: end}
	}
	switch c := t.rest[0]; {
	case c == '=':
		t.rest = t.rest[1:]
		return token{kind: equals}
	case c == ';':
		t.rest = t.rest[1:]
		return token{kind: semicolon}
	case c == '"', c == '\'':
		return token{word, t.quoted(c)}
	case isDigit(c) || c == '.' || c == '-':
		t.word()
		return token{kind: other}
	case isWord(c):
		return token{word, t.word()}
	}
	t.rest = t.rest[1:]
	return token{kind: other}
}

// skip leaves out white space and comments. A slash alone begins a comment too.
func (t *tokenizer) skip() {
	for len(t.rest) > 0 {
		switch {
		case t.rest[0] <= ' ':
			t.rest = t.rest[1:]
		case t.rest[0] == '/' && len(t.rest) > 1 && t.rest[1] == '*':
			text := string(t.rest[2:])
			_, after, _ := strings.Cut(text, "*/")
			t.rest = []rune(after)
		case t.rest[0] == '/':
			for len(t.rest) > 0 && t.rest[0] != '\n' && t.rest[0] != '\r' {
				t.rest = t.rest[1:]
			}
		default:
			return
		}
	}
}

func (t *tokenizer) word() string {
	n := 0
	for n < len(t.rest) && (isWord(t.rest[n]) || isDigit(t.rest[n]) || t.rest[n] == '.') {
		n++
	}
	text := string(t.rest[:n])
	t.rest = t.rest[n:]
	return text
}

// quoted reads up to the closing quote, or the end of the line.
func (t *tokenizer) quoted(quote rune) string {
	var out strings.Builder
	t.rest = t.rest[1:]
	for len(t.rest) > 0 && t.rest[0] != quote && t.rest[0] != '\n' && t.rest[0] != '\r' {
		c := t.rest[0]
		t.rest = t.rest[1:]
		if c == '\\' && len(t.rest) > 0 {
			c = t.escape()
		}
		out.WriteRune(c)
	}
	if len(t.rest) > 0 && t.rest[0] == quote {
		t.rest = t.rest[1:]
	}
	return out.String()
}

// escape reads what stands behind a backslash: a letter of C, up to three octal digits, or the
// character itself.
func (t *tokenizer) escape() rune {
	c := t.rest[0]
	t.rest = t.rest[1:]
	if i := strings.IndexRune("abfnrtv", c); i >= 0 {
		return rune("\a\b\f\n\r\t\v"[i])
	}
	if c < '0' || c > '7' {
		return c
	}
	n, most := c-'0', 2
	if c > '3' {
		most = 1 // the value stays below 256
	}
	for ; most > 0 && len(t.rest) > 0 && t.rest[0] >= '0' && t.rest[0] <= '7'; most-- {
		n = n<<3 | (t.rest[0] - '0')
		t.rest = t.rest[1:]
	}
	return n
}

func isDigit(c rune) bool { return c >= '0' && c <= '9' }

// isWord reports whether a character may stand in a word: Java leaves out those of 128 to 159.
func isWord(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$' || c == '-' || c >= 128+32
}
