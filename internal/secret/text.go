// Package secret keeps passwords and keys from being seen by accident.
//
//	password := secret.New("hunter2")
//	fmt.Printf("%+v", access)                  // … Password:[hidden] …
//	login(user, password.Reveal())
//
// It knows nothing of what the secrets are for. Whoever searches the code for Reveal sees
// every place where one leaves its Text.
package secret

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// hidden stands for every secret, also for an empty one.
const hidden = "[hidden]"

// Text is a string that only Reveal shows. Printing, logging and encoding it as text, JSON
// or YAML gives [hidden], encoding/gob refuses it, and nothing decodes into it. The zero value
// is the empty string.
//
// The string is held by a function, because fmt and other printers read unexported fields by
// reflection, without calling the methods that would hide it.
type Text struct{ reveal func() string }

var _ fmt.Formatter = Text{}

// New returns a Text that hides s, and makes Scrub look for it.
func New(s string) Text {
	Learn(s)
	return Cover(s)
}

// Cover returns a Text that hides s. Scrub does not look for it: it is for names that may stand elsewhere, such as that of a user.
func Cover(s string) Text { return Text{func() string { return s }} }

// Reveal returns the string.
func (t Text) Reveal() string {
	if t.reveal == nil {
		return ""
	}
	return t.reveal()
}

// String returns [hidden].
func (Text) String() string { return hidden }

// Format writes [hidden], whatever the verb and its flags.
func (Text) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, hidden) } // fmt ignores the error too

// MarshalText returns [hidden]. JSON, YAML, XML and slog call it too.
func (Text) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// words matches a word before a secret, as of every property of ssl. and sasl., up to where the secret begins.
const words = `(?:password|passwd|secret|token|credential|jaas|authorization|api[-_]?key)[\w.-]*(?:\s*[=:]\s*|\s+)|pwd\s*=\s*|\bs(?:as|s)l\.[\w.]+\s*[=:]\s*`

// named matches a text with a secret. Text behind "password=", "TOKEN: " or "--secret " may hold anything, so all of the
// rest is taken for the secret.
var named = regexp.MustCompile(`(?is)^(.*?(?:` + words + `)).+$`)

// Hide returns text, such as a word of a command line, without parts that may be secrets. Scrub finds less, because it
// goes over all texts and not only those in which secrets are expected.
func Hide(text string) string { return named.ReplaceAllString(Scrub(text), "${1}"+hidden) }

// HideValue returns the value of a name, unless the name is that of a secret.
func HideValue(name, value string) string {
	if Hide(name+"=x") != name+"=x" {
		return hidden
	}
	return value
}

// Bounds of the values that Scrub looks for, in bytes.
const (
	shortest  = 7    // a shorter one would be found by chance in megabytes of base64, as histograms are written
	longest   = 200  // a longer one, such as a key, is not looked for in parts
	mostKnown = 1024 // forms of values: the half that was learned first, and the newest; tokens between them are forgotten
)

// known are the secrets of this process, in every form that Scrub looks for.
var known struct {
	mu    sync.Mutex           // guards what follows
	forms []string             // in the order in which they were learned
	found [2]*strings.Replacer // of the forms, in texts and in JSON; nil: it is to be made
}

// common matches values that Scrub does not look for: they are words of kt's own texts and documents, or numbers.
var common = regexp.MustCompile(`^(?:[a-z_]+|[0-9.,:+_-]+)$`)

// Learn makes Scrub look for values, unless they are short or common.
func Learn(values ...string) {
	known.mu.Lock()
	defer known.mu.Unlock()
	for _, value := range values {
		if len(value) < shortest || common.MatchString(value) || slices.Contains(known.forms, value) {
			continue
		}
		for _, form := range formsOf(value) {
			if len(form) >= shortest && !common.MatchString(form) && !slices.Contains(known.forms, form) {
				known.forms = append(known.forms, form)
			}
		}
	}
	if more := len(known.forms) - mostKnown; more > 0 {
		known.forms = slices.Delete(known.forms, mostKnown/2, mostKnown/2+more)
	}
	clear(known.found[:])
}

// formsOf returns a value as it may stand in texts: as it is, quoted, in JSON, in URLs, and within base64, such as that of
// USER:PASSWORD. It returns parts of the value too, because an error may quote a part.
func formsOf(value string) []string {
	asJSON, _ := json.Marshal(value)      // text has no error
	quoted := strconv.QuoteToASCII(value) // as files of Java properties are written too
	forms := []string{value, quoted[1 : len(quoted)-1], string(asJSON[1 : len(asJSON)-1]), url.QueryEscape(value), url.PathEscape(value)}
	if len(value) < longest {
		forms = append(forms, strings.FieldsFunc(value, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })...)
	}
	for before := range 3 { // bytes of the group of three in which the value begins
		first, end := (before*4+2)/3, (before+len(value))*4/3 // of the characters that the value alone decides
		for _, alphabet := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
			forms = append(forms, alphabet.EncodeToString([]byte("xx"[:before] + value))[first:end])
		}
	}
	return forms
}

// The replacers.
const (
	inText = iota
	inJSON
)

// replacer replaces all known forms, the longest first. In JSON it replaces only forms that a string can hold: "key" with its quotes
// would be found outside of strings too.
func replacer(in int) *strings.Replacer {
	known.mu.Lock()
	defer known.mu.Unlock()
	if known.found[in] == nil {
		forms := slices.SortedFunc(slices.Values(known.forms), func(a, b string) int { return len(b) - len(a) })
		pairs := make([]string, 0, 2*len(forms))
		for _, form := range forms {
			if in == inText || json.Valid([]byte(`"`+form+`"`)) {
				pairs = append(pairs, form, hidden)
			}
		}
		known.found[in] = strings.NewReplacer(pairs...)
	}
	return known.found[in]
}

// userInfo matches USER:PASSWORD@ of a URL or an address, up to the password. In a URL, text alone before the @ is a
// token, except for amqp, where it is a user.
var userInfo = regexp.MustCompile(`(://[^\s"'<>/?#:@]*:)([^\s"'<>]*@)` +
	`|((?:^|[\s"'=,;(\[])[^\s"'<>/?#:@=,;(\[]+:)([^\s"'<>/?#:@]+@)` +
	`|\b((?i:https?|wss?|pulsar(?:\+ssl)?|kafka)://)([^\s"'<>/?#:@]+@)`)

// Scrub returns text without secrets: passwords of URLs, and the values that were learned. It is called where text leaves kt.
func Scrub(text string) string { return scrub(text, inText) }

// ScrubJSON is Scrub for a JSON document. It stays one, and no name and no number in it is changed.
func ScrubJSON(doc string) string { return scrub(doc, inJSON) }

func scrub(text string, in int) string {
	text = replacer(in).Replace(text)
	var done strings.Builder
	for at := strings.IndexByte(text, '@'); at >= 0; at = strings.IndexByte(text, '@') {
		from, end := strings.LastIndexAny(text[:at], between)+1, strings.IndexAny(text[at:], between)
		if end < 0 {
			end = len(text) - at
		}
		done.WriteString(text[:from])
		done.WriteString(userInfo.ReplaceAllString(text[from:at+end], "${1}${3}${5}"+hidden+"@")) // this alone: the expression is slow
		text = text[at+end:]
	}
	return done.String() + text
}

// between are the characters that end a match of userInfo.
const between = " \t\n\f\r\"'<>"

// LearnFrom learns the secrets in texts of a user, such as words of a command line: passwords of URLs, and values
// behind a word such as password.
func LearnFrom(texts ...string) {
	for _, text := range texts {
		for _, found := range userInfo.FindAllStringSubmatch(text, -1) {
			value := strings.TrimSuffix(found[2]+found[4]+found[6], "@")
			plain, _ := url.PathUnescape(value) // "" where it is no part of a URL
			Learn(value, plain)
		}
		for _, found := range assigned.FindAllStringSubmatch(text, -1) {
			Learn(found[1])
		}
	}
}

// assigned matches a word of a secret and the value behind it. A path is no secret, it says where one is.
var assigned = regexp.MustCompile(`(?i)(?:` + words + `)["']?(?:(?:bearer|basic)\s+)?([^/\s"';,&|][^\s"';,&|]*)`)
