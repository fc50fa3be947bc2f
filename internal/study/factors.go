package study

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"
)

// Setting is a setting of a load that kt optimize varies by itself.
type Setting struct {
	Factor  `yaml:",inline"`
	Default string   // of Kafka's own client
	For     []string // commands of loads
	If      string   // asked, or own topic; "": always
}

//go:embed settings.yaml
var settingsFile []byte

// Settings are those of settings.yaml, in their order.
var Settings = sync.OnceValue(func() (all []Setting) {
	if err := yaml.Unmarshal(settingsFile, &all); err != nil {
		panic("settings.yaml: " + err.Error()) // it is a part of the program
	}
	return all
})

// settingOf returns the setting of a factor, which may be of one load of a workload; one that is not in the table has its name alone.
func settingOf(factor string) Setting {
	name := factor[strings.LastIndex(factor, ".")+1:]
	if i := slices.IndexFunc(Settings(), func(s Setting) bool { return s.Name == name }); i >= 0 {
		return Settings()[i]
	}
	return Setting{Default: Default}
}

// mostLevels are those of a factor that is searched, beside its present value.
const mostLevels = 7

// ParseOver reads a setting to vary: NAME=VALUE,VALUE, NAME=search:FROM..TO, or tune.ID.
func ParseOver(text string) (f Factor, err error) {
	name, values, ok := strings.Cut(strings.TrimPrefix(text, "--"), "=")
	f = Factor{Name: name, Values: strings.Split(values, ",")}
	span, isSearch := strings.CutPrefix(values, "search:")
	switch ofTune := strings.HasPrefix(name, tunePrefix); {
	case ofTune && !ok:
		f.Values = []string{"proposed"}
	case ofTune || name == "" || slices.Contains(f.Values, ""):
		err = fmt.Errorf("--over %q: write NAME=VALUE,VALUE or NAME=search:FROM..TO, as in compression=none,lz4,zstd or linger=search:0..100ms; or tune.ID, as in tune.vm.swappiness, and tune for all that kt tune proposes", text)
	case isSearch:
		if f.Values, err = levels(span); err != nil {
			err = fmt.Errorf("--over %q: %w", text, err)
		}
	case len(once(mapped(f.Values, f.plain))) < len(f.Values):
		err = fmt.Errorf("--over %q: a value is there twice", text)
	}
	return f, err
}

// levels returns values from one to another, each about as many times the one before. From 0 the second is a hundredth of the last.
func levels(span string) (values []string, err error) {
	s := parseSpan(span, "")
	of := (&Factor{Values: []string{s.From, s.To}}).kind()
	if of == nil || of.amount(s.From) < 0 || of.amount(s.To) <= of.amount(s.From) {
		return nil, fmt.Errorf("search:%s: write two numbers, sizes or times, the lower one first", span)
	}
	from, to := of.amount(s.From), of.amount(s.To)
	first, n := from, mostLevels-1
	if from == 0 {
		first, n, values = max(1, to/100), mostLevels-2, []string{"0"}
	}
	unit := int64(1)
	if of.name == "time" && to >= int64(10*time.Millisecond) {
		unit = int64(time.Millisecond)
	}
	for i := range n + 1 {
		v := int64(math.Round(float64(first)*math.Pow(float64(to)/float64(first), float64(i)/float64(n))/float64(unit))) * unit
		if of.name == "size" && v != from && v != to {
			v = 1 << bits.Len64(uint64(float64(v)/math.Sqrt2)) // the nearest power of two
		}
		if v > 0 {
			values = append(values, of.write(v))
		}
	}
	return once(values), nil
}

// kind returns the unit of the values; nil: they are words.
func (f *Factor) kind() (of *kind) {
	for _, v := range f.Values {
		switch _, is, err := parseQuantity(v); {
		case v == Default:
		case err != nil, of != nil && of != is && of != kinds[0] && is != kinds[0]:
			return nil
		case of == nil || of == kinds[0]:
			of = is
		}
	}
	return of
}

// plain returns a value as a number of the unit of the values, so that those which are alike are one; a word as it stands.
func (f *Factor) plain(value string) string {
	if of := f.kind(); of != nil && value != Default {
		return of.write(of.amount(value))
	}
	return value
}

// amount returns a value as a number of a kind. A number alone is of milliseconds or bytes, as properties have them; below 0: it is a word.
func (k *kind) amount(value string) int64 {
	n, of, err := parseQuantity(value)
	switch ms := int64(time.Millisecond); {
	case err != nil:
		return -1
	case k.name == "time" && of == kinds[0]:
		n *= ms
	case k == kinds[0] && of.name == "time":
		n /= ms
	}
	return n
}

// take returns a value as it stands among those of the factor, of which it becomes one. Numbers, sizes and times are put in their order.
func (f *Factor) take(value string) string {
	of := f.kind()
	i := slices.IndexFunc(f.Values, func(v string) bool {
		return v == value || of != nil && value != Default && of.amount(v) == of.amount(value)
	})
	switch {
	case i >= 0:
		value = f.Values[i]
	case of == nil:
		f.Values = slices.Insert(f.Values, 0, value)
	default:
		if _, is, err := parseQuantity(value); err == nil && is == kinds[0] {
			value = of.write(of.amount(value))
		}
		f.Values = append(f.Values, value)
	}
	if of != nil {
		slices.SortStableFunc(f.Values, func(a, b string) int { return cmp.Compare(of.amount(a), of.amount(b)) })
	}
	return value
}

// Present tells what a setting of a load is now, before a search. Default stands for what has no one value, or is not known; "": the load
// does not say it, so that it is Kafka's own.
type Present func(name string) string

// add adds a factor to the search, with its present value and Kafka's own among its values.
func (o *Optimum) add(f Factor, present string) (Factor, error) {
	of := settingOf(f.Name)
	now := cmp.Or(present, of.Default)
	if now != Default { // the value as it is now is known
		f.Values = slices.DeleteFunc(f.Values, func(v string) bool { return v == Default })
	}
	now = f.take(now)
	if len(f.Values) < 2 {
		return f, fmt.Errorf("--over %s: %s is what it is now: give another value", f.Name, now)
	}
	kafkas := now
	if f.About = of.About; of.Default != Default {
		kafkas = f.take(of.Default)
	}
	o.Present, o.Defaults = append(o.Present, Flag{f.Name, now}), append(o.Defaults, Flag{f.Name, kafkas})
	return f, nil
}

// Over returns the factors of --over.
func (o *Optimum) Over(texts []string, now Present) (factors []Factor, err error) {
	for _, text := range texts {
		f, bad := ParseOver(text)
		switch {
		case bad != nil:
		case slices.ContainsFunc(factors, func(of Factor) bool { return of.Name == f.Name }):
			bad = fmt.Errorf("--over %s: it is there twice", f.Name)
		default:
			f, bad = o.add(f, now(f.Name))
		}
		factors, err = append(factors, f), errors.Join(err, bad)
	}
	return factors, err
}

// OverTune returns the factors of --over, and of what kt tune proposes on the brokers' hosts. Those of a group of its checks go together.
func (o *Optimum) OverTune(found []HostFinding, texts []string, now Present) ([]Factor, error) {
	o.Tune = make(map[HostState]int)
	for _, f := range found {
		if o.Tune[f.State]++; f.State == Proposed {
			texts = append(texts, tunePrefix+f.ID)
		}
	}
	if o.Tune[Proposed] == 0 {
		return nil, errors.New("--over tune: kt tune proposes nothing here that takes effect at once: kt tune shows what is fine, and what is to be changed by hand")
	}
	delete(o.Tune, Proposed)
	factors, err := o.Over(once(texts), now)
	for i := range factors {
		if at := slices.IndexFunc(found, func(f HostFinding) bool { return tunePrefix+f.ID == factors[i].Name }); at >= 0 {
			factors[i].Group, factors[i].About = tunePrefix+found[at].Group, found[at].About
		}
	}
	return factors, err
}

// Choose returns the factors that matter for a load which some commands make: those of Settings that it takes. takes reports whether it
// takes a value. mayChange are settings that take part only if they are asked for.
func (o *Optimum) Choose(commands, mayChange []string, now Present, takes func(Flag) bool) (factors []Factor, err error) {
	for _, name := range mayChange {
		if settingOf(name).If != "asked" {
			return nil, fmt.Errorf("--may-change %s: it is for acks; name other settings with --over", name)
		}
	}
	for _, s := range Settings() {
		f, known := s.Factor, now(s.Name)
		if !slices.ContainsFunc(s.For, func(c string) bool { return slices.Contains(commands, c) }) ||
			s.If == "asked" && !slices.Contains(mayChange, s.Name) || s.If == "own topic" && (known != "" || len(commands) > 1) {
			continue
		}
		if f.Values = slices.DeleteFunc(slices.Clone(f.Values), func(v string) bool { return !takes(Flag{s.Name, v}) }); len(f.Values) == 0 {
			continue
		}
		if f, err := o.add(f, known); err == nil {
			factors = append(factors, f)
		}
	}
	return factors, nil
}
