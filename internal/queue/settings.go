package queue

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
)

// Property is a setting of a system's clients, which are set to an S.
type Property[S any] struct {
	Name, Default string // Default "": it is not set
	Client        string // the client's own name of it
	Set           func(s *S, value string) error
}

// Names returns the names of properties.
func Names[S any](all []Property[S]) (names []string) {
	for _, p := range all {
		names = append(names, p.Name)
	}
	return names
}

// Value returns the value of a setting of Set; "": there is none of that name.
func Value(of []result.Setting, name string) string {
	for _, s := range of {
		if s.Name == name {
			return s.Value
		}
	}
	return ""
}

// Set sets s to the properties that a system has: to what was given, and to the defaults of others. It returns all of them.
// nearest tells what comes nearest to properties that it does not have.
func Set[S any](s *S, system string, has []Property[S], given map[string]plan.Given, nearest map[string]string) ([]result.Setting, error) {
	var errs []error
	names := Names(has)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(names, name) {
			advice := cmp.Or(nearest[name], "leave it out; there is "+strings.Join(names, ", "))
			errs = append(errs, plan.At(given[name].Source, name, "%s does not have it: %s", system, advice))
		}
	}
	var all []result.Setting
	for _, p := range has {
		at := result.Setting{Name: p.Name, Value: p.Default, Default: p.Default, Source: "default", Client: p.Client}
		if g, ok := given[p.Name]; ok {
			at.Value, at.Source = strings.TrimSpace(g.Value), g.Source
		}
		all = append(all, at)
		if at == (result.Setting{Name: p.Name, Source: "default", Client: p.Client}) {
			continue // it has no default
		}
		if err := p.Set(s, at.Value); err != nil {
			errs = append(errs, plan.At(at.Source, p.Name+"="+at.Value, "%w", err))
		}
	}
	return all, errors.Join(errs...)
}

// Number reads a whole number.
func Number[N ~int | ~uint | ~int64](value string, least, most int64, into *N) error {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < least || n > most {
		return fmt.Errorf("write a whole number from %d to %d", least, most)
	}
	*into = N(n)
	return nil
}

// YesNo are the words of a setting that is on or off.
var YesNo = map[string]bool{"true": true, "false": false}

// Millis reads a time in milliseconds, which may be as long as one of Kafka's clients.
func Millis(value string, least time.Duration, into *time.Duration) error {
	var n int64
	err := Number(value, least.Milliseconds(), math.MaxInt32, &n)
	*into = time.Duration(n) * time.Millisecond
	return err
}

// Choice reads one of some words.
func Choice[V any](value string, words map[string]V, into *V) error {
	v, ok := words[value]
	if !ok {
		return fmt.Errorf("write %s", strings.Join(slices.Sorted(maps.Keys(words)), " or "))
	}
	*into = v
	return nil
}
