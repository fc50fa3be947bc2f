package kafka

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ParseProducer turns the properties that were given, and the defaults of
// Kafka's Java producer 4.x for the rest, into Settings. It follows Java's rules
// for how properties depend on each other, and reports every problem it finds,
// joined. recordMax is the size of the largest record's key, value and headers.
//
// A property the producer does not have is an error, or with lenient a warning:
// a misspelt property would otherwise leave its default in force, unseen. A
// security property is always an error, because a run without the security it
// asks for is another run. Warnings also name the properties that franz-go has
// no counterpart for.
func ParseProducer(given map[string]Given, recordMax int, lenient bool) (Settings, []string, error) {
	s := Settings{settings: map[string]Setting{}, recordMax: max(recordMax, 0)}
	var warnings []string
	var problems []error
	for _, p := range properties() {
		setting, err := p.resolve(given)
		problems = append(problems, err)
		s.settings[p.name] = setting
		if p.client == hasNoTwin && setting.Value != p.preset {
			warnings = append(warnings, fmt.Sprintf("%s has no effect: %s", cite(setting), p.note))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if _, known := s.settings[name]; known {
			continue
		}
		err := strangerError(name, given[name].Source)
		if lenient && !isSecurity(name) {
			warnings = append(warnings, err.Error()+"; ignored")
			continue
		}
		problems = append(problems, err)
	}
	problems = append(problems, s.applyRules())
	if err := errors.Join(problems...); err != nil {
		return Settings{}, warnings, err
	}
	return s, warnings, nil
}

// resolve returns the property's setting. A value that fails its check leaves
// the default, so that the rules between properties still have one to work on.
func (p property) resolve(given map[string]Given) (Setting, error) {
	s := Setting{
		Name: p.name, Value: p.preset, Default: p.preset, Source: SourceDefault,
		Doc: p.doc, Client: p.client, Note: p.note,
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
func strangerError(name, source string) error {
	if isSecurity(name) {
		return fmt.Errorf("%s%s: %s", name, from(source), plainTextOnly)
	}
	if isConsumerOnly(name) {
		return fmt.Errorf("unknown property %q%s: it is a consumer property", name, from(source))
	}
	if near := Nearest(name, propertyNames()); near != "" {
		return fmt.Errorf("unknown property %q%s: did you mean %s?", name, from(source), near)
	}
	return fmt.Errorf("unknown property %q%s: Kafka's producer has none like it", name, from(source))
}

func isSecurity(name string) bool {
	return strings.HasPrefix(name, "sasl.") || strings.HasPrefix(name, "ssl.") || strings.HasPrefix(name, "security.")
}

// cite quotes a setting in a message, with its source.
func cite(s Setting) string { return s.Name + "=" + s.Value + from(s.Source) }

func from(source string) string {
	switch source {
	case "":
		return ""
	case SourceDefault, SourceDerived:
		return " (" + source + ")"
	}
	return " (from " + source + ")"
}
