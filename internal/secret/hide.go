package secret

import "regexp"

// words matches a word before a secret, up to where the secret begins. The value of every property whose name
// begins with ssl. or sasl. counts as one.
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
