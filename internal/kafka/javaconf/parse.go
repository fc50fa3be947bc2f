package javaconf

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

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
	in, warnings, err := resolve("producer", given, lenient)
	s := Producer{settings: in, recordMax: max(recordMax, 0)}
	if err := errors.Join(err, s.applyRules()); err != nil {
		return Producer{}, warnings, err
	}
	return s, warnings, nil
}

// IsProducerProperty reports whether Kafka's producer has the property. Security properties count, because both clients have
// them.
func IsProducerProperty(name string) bool { return has("producer", name) }

// resolve returns the setting of each row of a client's table. Properties without a row are problems.
func resolve(client string, given map[string]plan.Given, lenient bool) (settings, []string, error) {
	s := settings{}
	var warnings []string
	var problems []error
	for _, p := range rows()[client] {
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

// resolve returns the property's setting: the default if its value fails the check, so that rules have a valid one.
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

// strangerError returns the error of a property without a row. It does not show the value, which may be a secret.
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
func cite(s result.Setting) string {
	text := s.Name + "=" + s.Value
	switch s.Source {
	case "":
		return text
	case SourceDefault, SourceDerived:
		return text + " (" + s.Source + ")"
	}
	return text + " (from " + s.Source + ")"
}

type check func(value string) (string, error)

func wholeNumber(of string, lo, hi int64) check {
	return func(value string) (string, error) {
		n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		switch {
		case err == nil && n >= lo && n <= hi:
			return strconv.FormatInt(n, 10), nil
		case hi == math.MaxInt64:
			return "", fmt.Errorf("must be a whole number%s, at least %d", of, lo)
		default:
			return "", fmt.Errorf("must be a whole number%s from %d to %d", of, lo, hi)
		}
	}
}

// orMinusOne also accepts -1, with which Kafka leaves a value to the other side.
func orMinusOne(inner check) check {
	return func(value string) (string, error) {
		if strings.TrimSpace(value) == "-1" {
			return "-1", nil
		}
		canonical, err := inner(value)
		if err != nil {
			return "", fmt.Errorf("%w, or -1", err)
		}
		return canonical, nil
	}
}

func boolean(value string) (string, error) {
	switch v := strings.ToLower(strings.TrimSpace(value)); v {
	case "true", "false":
		return v, nil
	}
	return "", errors.New("must be true or false")
}

func oneOf(words ...string) check {
	last := len(words) - 1
	list := strings.Join(words[:last], ", ") + " or " + words[last]
	return func(value string) (string, error) {
		if v := strings.TrimSpace(value); slices.Contains(words, v) {
			return v, nil
		}
		return "", errors.New("must be " + list)
	}
}

func inLowerCase(inner check) check {
	return func(value string) (string, error) { return inner(strings.ToLower(value)) }
}

func textOf(lo, hi int) check {
	return func(value string) (string, error) {
		switch {
		case len(value) < lo:
			return "", errors.New("must not be empty")
		case len(value) > hi:
			return "", fmt.Errorf("must be at most %d bytes long", hi)
		}
		return value, nil
	}
}

func onlyValue(value, reason string) check {
	return func(given string) (string, error) {
		if strings.EqualFold(strings.TrimSpace(given), value) {
			return value, nil
		}
		return "", errors.New(reason)
	}
}

func spelled(words map[string]string, form string) check {
	return func(value string) (string, error) {
		if word, ok := words[strings.TrimSpace(value)]; ok {
			return word, nil
		}
		return "", errors.New("must be " + form)
	}
}

func anything(value string) (string, error) { return value, nil }

func checkOffsetReset(value string) (string, error) {
	v := strings.TrimSpace(value)
	if slices.Contains([]string{"earliest", "latest", "none"}, v) {
		return v, nil
	}
	if back, ok := strings.CutPrefix(v, byDuration); ok {
		if _, err := parseISODuration(back); err == nil {
			return v, nil
		}
	}
	return "", errors.New("must be earliest, latest, none or by_duration:PnDTnHnMn.nS, as in by_duration:PT1H30M")
}

var isoDuration = regexp.MustCompile(`^P(?:(\d+)D)?(T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d{0,9})?)S)?)?$`)

// parseISODuration reads a duration as Java writes it, P1DT2H3M4.5S, in either case.
func parseISODuration(text string) (time.Duration, error) {
	text = strings.ToUpper(text)
	part := isoDuration.FindStringSubmatch(text)
	if part == nil || text == "P" || part[2] == "T" {
		return 0, fmt.Errorf("%q is no duration", text)
	}
	asGo := "0s"
	if part[1] != "" {
		days, err := strconv.ParseInt(part[1], 10, 32)
		if err != nil {
			return 0, err
		}
		asGo += strconv.FormatInt(24*days, 10) + "h"
	}
	asGo += strings.ToLower(strings.TrimPrefix(part[2], "T"))
	return time.ParseDuration(asGo)
}

// balancers are franz-go's counterparts of the assignors that Kafka ships.
var balancers = map[string]func() kgo.GroupBalancer{
	"RangeAssignor": kgo.RangeBalancer, "RoundRobinAssignor": kgo.RoundRobinBalancer,
	"StickyAssignor": kgo.StickyBalancer, "CooperativeStickyAssignor": kgo.CooperativeStickyBalancer,
}

func checkAssignors(value string) (string, error) {
	var classes []string
	for name := range strings.SplitSeq(value, ",") {
		short := strings.TrimPrefix(strings.TrimSpace(name), assignorPackage)
		if balancers[short] == nil {
			return "", errors.New("must be a list of RangeAssignor, RoundRobinAssignor, StickyAssignor and CooperativeStickyAssignor")
		}
		if class := assignorPackage + short; !slices.Contains(classes, class) {
			classes = append(classes, class)
		}
	}
	return strings.Join(classes, ","), nil
}

func checkGroupID(value string) (string, error) {
	if strings.TrimSpace(value) == "" {
		return "", errors.New("must not be empty")
	}
	return textOf(1, math.MaxInt16)(value) // a length prefix on the wire
}

const instanceIDMax = 249

var instanceID = regexp.MustCompile(`^[a-zA-Z0-9._-]+$`)

// checkInstanceID is as strict as Java, which treats the name like a topic's.
func checkInstanceID(value string) (string, error) {
	if !instanceID.MatchString(value) || value == "." || value == ".." || len(value) > instanceIDMax {
		return "", fmt.Errorf("must be 1 to %d letters, digits, dots, dashes or underscores", instanceIDMax)
	}
	return value, nil
}
