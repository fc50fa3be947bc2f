package javaconf

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/suggest"
)

// ParseProducer turns the properties that were given, and the defaults of
// Kafka's Java producer 4.x for the rest, into settings. It follows Java's rules
// for how properties depend on each other, and reports every problem it finds,
// joined. recordMax is the size of the largest record's key, value and headers.
//
// An unknown property is an error, or with lenient a warning: a misspelt one would silently leave
// its default in force. A security property is always an error, because those belong to the
// connections and not to a client's settings, which others may see. Warnings also name properties without a counterpart in franz-go.
func ParseProducer(given map[string]plan.Given, recordMax int, lenient bool) (Producer, []string, error) {
	in, warnings, err := resolve("producer", producerProperties(), given, lenient)
	s := Producer{settings: in, recordMax: max(recordMax, 0)}
	if err := errors.Join(err, s.applyRules()); err != nil {
		return Producer{}, warnings, err
	}
	return s, warnings, nil
}

// IsProducerProperty reports whether Kafka's producer has the property. Security properties
// count, because both clients have them.
func IsProducerProperty(name string) bool { return has(producerProperties(), name) }

func has(table []property, name string) bool {
	return isSecurity(name) || slices.ContainsFunc(table, func(p property) bool { return p.name == name })
}

// resolve returns the setting of each row of a client's table, and reports properties without a
// row.
func resolve(client string, table []property, given map[string]plan.Given, lenient bool) (settings, []string, error) {
	s := settings{}
	var warnings []string
	var problems []error
	for _, p := range table {
		setting, err := p.resolve(given)
		problems = append(problems, err)
		s[p.name] = setting
		if p.client == hasNoTwin && setting.Value != p.preset {
			warnings = append(warnings, fmt.Sprintf("%s has no effect: %s", cite(setting), p.note))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if _, known := s[name]; known {
			continue
		}
		err := strangerError(client, slices.Sorted(maps.Keys(s)), name, given[name].Source)
		if lenient && !isSecurity(name) {
			warnings = append(warnings, err.Error()+"; ignored")
			continue
		}
		problems = append(problems, err)
	}
	return s, warnings, errors.Join(problems...)
}

// resolve returns the property's setting. A value that fails its check leaves the default, so
// that the rules between properties have a valid one.
func (p property) resolve(given map[string]plan.Given) (result.Setting, error) {
	s := result.Setting{
		Name: p.name, Value: p.preset, Default: p.preset, Source: SourceDefault,
		Client: p.client, Note: p.note,
	}
	g, ok := given[p.name]
	if !ok {
		return s, nil
	}
	canonical, err := p.check(g.Value)
	if err != nil {
		return s, plan.At(g.Source, p.name+"="+g.Value, "%w", err)
	}
	s.Value, s.Source = canonical, g.Source
	return s, nil
}

// strangerError returns the error of a property without a row. It does not show the value, which
// may be a secret.
func strangerError(client string, known []string, name, source string) error {
	if isSecurity(name) {
		return plan.At(source, name, securityApart)
	}
	why := "Kafka's " + client + " has no such property"
	// A property that is known without a row in this table is the other client's.
	switch near := suggest.Nearest(name, known); {
	case IsConsumerProperty(name):
		why = "it is a consumer property"
	case IsProducerProperty(name):
		why = "it is a producer property"
	case near != "":
		why = "did you mean " + near + "?"
	}
	return plan.At(source, fmt.Sprintf("unknown property %q", name), "%s", why)
}

func isSecurity(name string) bool {
	return strings.HasPrefix(name, "sasl.") || strings.HasPrefix(name, "ssl.") || strings.HasPrefix(name, "security.")
}

// cite quotes a setting in a message, with its source.
func cite(s result.Setting) string { return s.Name + "=" + s.Value + from(s.Source) }

func from(source string) string {
	switch source {
	case "":
		return ""
	case SourceDefault, SourceDerived:
		return " (" + source + ")"
	}
	return " (from " + source + ")"
}
