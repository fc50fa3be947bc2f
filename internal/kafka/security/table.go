package security

import (
	_ "embed"
	"strings"
	"sync"
)

// Property is a security property of Kafka's Java clients.
type Property struct {
	Name    string
	Use     string // used, or of a value other than the default: ignored, with a warning, or refused
	Secret  bool   // its value is never shown
	Default string // of Kafka's Java clients 4.x
	Kt      string // what kt does with it
	Franz   string // where franz-go alone differs from Java; "": it does not
}

//go:embed properties.tsv
var table string

// Properties returns the table of all security properties, sorted by name.
var Properties = sync.OnceValue(func() (all []Property) {
	for line := range strings.Lines(table) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		row := append(strings.Split(strings.TrimSuffix(line, "\n"), "\t"), "") // where franz-go does not differ
		use, secret, _ := strings.Cut(row[1], " ")
		all = append(all, Property{row[0], use, secret != "", row[2], row[3], row[4]})
	}
	return all
})

// urlPassword is the one security property that is kt's own: systems that a URL names have no file for it.
const urlPassword = "url.password"

// Is reports whether a property is one of security: those that Java has, others of that form, and urlPassword.
func Is(name string) bool {
	return strings.HasPrefix(name, "sasl.") || strings.HasPrefix(name, "ssl.") || strings.HasPrefix(name, "security.") || name == urlPassword
}

// Show returns the value of a property for a screen: [hidden], unless it is known to be no secret.
func Show(name, value string) string {
	if p := find(name); p.Name == "" || p.Secret {
		return "[hidden]"
	}
	return value
}

// find returns the zero Property for an unknown name.
func find(name string) Property {
	for _, p := range Properties() {
		if p.Name == name {
			return p
		}
	}
	return Property{}
}
