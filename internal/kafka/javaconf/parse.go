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
// A property the producer does not have is an error, or with lenient a warning:
// a misspelt property would otherwise leave its default in force, unseen. A
// security property is always an error, because a run without the security it
// asks for is another run. Warnings also name the properties that franz-go has
// no counterpart for.
func ParseProducer(given map[string]plan.Given, recordMax int, lenient bool) (Producer, []string, error) {
	in, warnings, err := resolve("producer", properties(), given, lenient)
	s := Producer{settings: in, recordMax: max(recordMax, 0)}
	if err := errors.Join(err, s.applyRules()); err != nil {
		return Producer{}, warnings, err
	}
	return s, warnings, nil
}

// IsProducerProperty reports whether Kafka's producer has the property. Security
// properties count, although kt has none of them yet: a command that reads for
// both clients gets the proper error from either.
func IsProducerProperty(name string) bool { return has(properties(), name) }

func has[S reader](table []property[S], name string) bool {
	return isSecurity(name) || slices.ContainsFunc(table, func(p property[S]) bool { return p.name == name })
}

// resolve settles what each property of a client's table is by itself, and reports
// what is in none of its rows.
func resolve[S reader](client string, table []property[S], given map[string]plan.Given, lenient bool) (settings, []string, error) {
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
		err := strangerError(client, names(table), name, given[name].Source)
		if lenient && !isSecurity(name) {
			warnings = append(warnings, err.Error()+"; ignored")
			continue
		}
		problems = append(problems, err)
	}
	return s, warnings, errors.Join(problems...)
}

// resolve returns the property's setting. A value that fails its check leaves
// the default, so that the rules between properties still have one to work on.
func (p property[S]) resolve(given map[string]plan.Given) (result.Setting, error) {
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
		return s, fmt.Errorf("%s=%s%s: %w", p.name, g.Value, from(g.Source), err)
	}
	s.Value, s.Source = canonical, g.Source
	return s, nil
}

// strangerError says what is wrong with a property that has no row. It does not
// show the value: that of a security property may be a secret.
func strangerError(client string, known []string, name, source string) error {
	if isSecurity(name) {
		return fmt.Errorf("%s%s: %s", name, from(source), plainTextOnly)
	}
	unknown := fmt.Sprintf("unknown property %q%s", name, from(source))
	// What has no row in this table and is a property nevertheless is one of the
	// other client, which deserves a better answer.
	switch near := suggest.Nearest(name, known); {
	case IsConsumerProperty(name):
		return errors.New(unknown + ": it is a consumer property")
	case IsProducerProperty(name):
		return errors.New(unknown + ": it is a producer property")
	case near != "":
		return fmt.Errorf("%s: did you mean %s?", unknown, near)
	}
	return fmt.Errorf("%s: Kafka's %s has none like it", unknown, client)
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
