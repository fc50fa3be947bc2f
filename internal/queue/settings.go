package queue

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/payload"
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

// Properties are the settings of the clients of a system.
type Properties[S any] struct {
	System             string
	Producer, Consumer []Property[S]
	Nearest            map[string]string // what comes nearest to properties that it does not have
}

// System is a system that a plan names, with the settings of its clients.
type System[S any] struct {
	Access
	URL      *url.URL
	Settings S
	Values   *payload.Values // nil: the plan writes nothing

	of                 *Properties[S]
	producer, consumer []result.Setting // nil: nobody writes, or reads
}

// New checks the properties of the clients of a plan, and makes what its messages hold. It completes the plan with what a payload
// file says. It makes nothing for a URL that it does not understand.
func (of *Properties[S]) New(p *plan.Plan, producer, consumer map[string]plan.Given, a Access) (*System[S], error) {
	u, err := plan.ParseURL(p.URL)
	if err != nil {
		return nil, fmt.Errorf("--url: %w", err)
	}
	s := &System[S]{Access: a, URL: u, of: of}
	var errs [3]error
	if p.Writes() {
		s.Values, errs[0] = payload.MakeValues(p)
		s.producer, errs[1] = s.set(of.Producer, producer)
	}
	if p.Reads() {
		s.consumer, errs[2] = s.set(of.Consumer, consumer)
	}
	return s, errors.Join(errs[:]...)
}

// Acks returns the acknowledgements that the producers wait for.
func (s *System[S]) Acks() string {
	if i := slices.IndexFunc(s.producer, func(p result.Setting) bool { return p.Name == "acks" }); i >= 0 {
		return s.producer[i].Value
	}
	return ""
}

// Describe completes a header with the settings of the clients.
func (s *System[S]) Describe(h *result.Header) { h.Config, h.ConsumerConfig = s.producer, s.consumer }

// set sets the properties that clients have: to what was given, and to the defaults of others. It returns all of them.
func (s *System[S]) set(has []Property[S], given map[string]plan.Given) ([]result.Setting, error) {
	var errs []error
	names := Names(has)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(names, name) {
			advice := cmp.Or(s.of.Nearest[name], "leave it out; there is "+strings.Join(names, ", "))
			errs = append(errs, plan.At(given[name].Source, name, "%s does not have it: %s", s.of.System, advice))
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
		if err := p.Set(&s.Settings, at.Value); err != nil {
			errs = append(errs, plan.At(at.Source, p.Name+"="+at.Value, "%w", err))
		}
	}
	return all, errors.Join(errs...)
}

// Derive sets a property, if the clients have it and nobody gave it.
func (s *System[S]) Derive(name, value, note string) {
	has := append(slices.Clone(s.of.Producer), s.of.Consumer...)
	for _, all := range [][]result.Setting{s.producer, s.consumer} {
		for i := range all {
			if p := &all[i]; p.Name == name && p.Source == "default" {
				at := slices.IndexFunc(has, func(p Property[S]) bool { return p.Name == name })
				_ = has[at].Set(&s.Settings, value) // kt's own values are right
				p.Value, p.Source, p.Note = value, "derived", note
			}
		}
	}
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
