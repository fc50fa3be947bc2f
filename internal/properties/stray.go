package properties

import (
	"fmt"
	"regexp"
	"strings"
)

// Stray is a line that is no property. Mostly it is the rest of a value whose line does not end in a backslash, so what
// stands in it may be secret.
type Stray struct {
	Line int
	Of   string // the property with the beginning of a PEM text; "": none
}

// Problem returns what is wrong and what to do. It shows nothing of the line.
func (s Stray) Problem() string {
	if s.Of != "" {
		return fmt.Sprintf(`the PEM text of %s goes on here without a line continuation: end each of its lines but the last with \n\`, s.Of)
	}
	return "this line is not NAME=VALUE: end the line before it with a backslash if it goes on here"
}

// Whole separates properties from stray lines. Of stray lines that follow each other it returns the first.
func Whole(list []Property) (whole []Property, stray []Stray) {
	pem, follows := "", false // pem: the property with a PEM text that has no end yet
	for _, p := range list {
		if dotted.MatchString(p.Key) || pem == "" && IsName(p.Key) && p.Value != "" {
			whole, pem, follows = append(whole, p), "", false
			if strings.LastIndex(p.Value, "-----BEGIN ") > strings.LastIndex(p.Value, "-----END ") {
				pem = p.Key
			}
			continue
		}
		if !follows {
			stray = append(stray, Stray{p.Line, pem})
		}
		follows = true
		if strings.HasPrefix(p.Key, "-----END") {
			pem = ""
		}
	}
	return whole, stray
}

// No name of Kafka's has a word of 24 characters, while a line of PEM text, a token or a password often has.
var (
	dotted = regexp.MustCompile(`^[A-Za-z][\w-]{0,23}(\.[\w-]{1,24})+$`)
	word   = regexp.MustCompile(`^[A-Za-z]{1,24}([_-][A-Za-z]{1,24})*$`)
)

// IsName reports whether a text has the form of the name of a property, so that an error may show it: words with dots, or
// letters alone.
func IsName(text string) bool { return dotted.MatchString(text) || word.MatchString(text) }
