package study

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/suggest"
)

// Parse reads a study. name is its name, or the path of its file. known returns an error for a flag that a command
// does not have. The error of Parse has every problem, each on a line of its own with the line and the column in the
// file.
func Parse(name string, text []byte, known func(command, flag string) error) (*Study, error) {
	root, err := input.YAML(text, func(line int) string { return name + ":" + strconv.Itoa(line) })
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w; kt study show partitions prints one to compare with", err)
	case root == nil:
		return nil, fmt.Errorf("%s: it is empty; a study has a load and factors", name)
	}
	p := NewParser(name, known)
	s := p.study(root, strings.TrimSuffix(strings.TrimSuffix(path.Base(name), ".yaml"), ".yml"))
	return s, p.Err()
}

// Parser reads the nodes of a file and collects what is wrong with them.
type Parser struct {
	file  string
	known func(command, flag string) error
	errs  []error
	at    map[string]*yaml.Node // the nodes of a study, by what a problem calls them
}

// NewParser returns a parser of the file with this name. known is as that of Parse.
func NewParser(file string, known func(command, flag string) error) *Parser {
	return &Parser{file: file, known: known, at: make(map[string]*yaml.Node)}
}

// Err returns all that was wrong so far, each on a line of its own with the line and the column in the file.
func (p *Parser) Err() error { return errors.Join(p.errs...) }

// Places returns the nodes of keys, and of "load NAME", "reads NAME", "flag NAME FLAG".
func (p *Parser) Places() map[string]*yaml.Node { return p.at }

// Bad adds a problem of a node.
func (p *Parser) Bad(n *yaml.Node, format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf("%s:%d:%d: %w", p.file, n.Line, n.Column, fmt.Errorf(format, args...)))
}

// study reads a study, or a part of one if it has no name yet.
func (p *Parser) study(n *yaml.Node, name string) *Study {
	var slo *yaml.Node
	s := &Study{Name: name, Discard: 1, Repeats: 3, Order: Shuffled, Seed: 1, Rest: plan.Duration(5 * time.Second)}
	around, before := p.at, len(p.errs)
	p.at = make(map[string]*yaml.Node)
	defer func() { p.at = around }()
	keys := map[string]any{
		"about": &s.About, "found": &s.Found, "published": &s.Published, "bytes": &s.Bytes, "pair": &s.Pair, "discard": &s.Discard, "repeats": &s.Repeats,
		"seed": &s.Seed, "rest": &s.Rest,
		"prepare": func(n *yaml.Node) { s.Prepare = p.Loads(n, "prepare") },
		"load":    func(n *yaml.Node) { s.Loads = append(s.Loads, p.load(n, "load")) },
		"loads":   func(n *yaml.Node) { s.Loads = append(s.Loads, p.Loads(n, "loads")...) },
		"factors": func(n *yaml.Node) { s.Factors = p.factors(n) },
		"doubts":  func(n *yaml.Node) { s.Doubts = p.doubts(n) },
		"order":   func(n *yaml.Node) { s.Order = p.word(n, "order", Orders) },
		"ask":     func(n *yaml.Node) { s.Ask = p.questions(n) },
		"find": func(n *yaml.Node) {
			s.Find = new(DefaultSearch())
			p.Mapping(n, "find", map[string]any{
				"trial": &s.Find.Trial, "precision": &s.Find.Precision, "curve": &s.Find.Curve,
				"slo": func(n *yaml.Node) { slo = n },
				"ladder": func(n *yaml.Node) {
					var err error
					if s.Find.Ladder, err = plan.ParseLadder(p.list(n)); err != nil {
						p.Bad(n, "ladder %w", err)
					}
				},
			})
		},
	}
	if name == "" {
		keys["name"] = &s.Name
	} else {
		keys["given"] = func(n *yaml.Node) {
			p.each(n, "given", func(key, value *yaml.Node) {
				if !open.MatchString("$" + key.Value) {
					p.Bad(key, "given %q: a name has small letters, digits and -", key.Value)
				}
				s.Given = append(s.Given, Given{Name: key.Value, About: p.one(value)})
			})
		}
		keys["parts"] = func(n *yaml.Node) {
			s.Parts = items(p, n, "studies, each with its name", func(one *yaml.Node) *Study { return p.study(one, "") })
		}
	}
	p.Mapping(n, "study", keys)
	if s.Find != nil {
		s.Repeats, s.Discard, s.Order = 1, 0, Listed // each trial is one run
		s.Find.Scale = len(s.Loads) == 1 && s.Loads[0].IsWorkload()
	}
	if slo != nil && s.Find.Scale { // each load keeps its own
		s.Loads[0].Flags = append(s.Loads[0].Flags, mapped(p.list(slo), func(text string) Flag { return Flag{"limit", text} })...)
	} else if slo != nil {
		p.read(slo, "slo", reflect.ValueOf(&s.Find.SLO).Elem())
	}
	if len(p.errs) == before {
		for _, wrong := range s.problems() {
			part := new(problem)
			_ = errors.As(wrong, part) // each is one
			p.Bad(cmp.Or(p.at[part.part], n), "%w", wrong)
		}
	}
	return s
}

// doubts reads those of a published account: ID: VALUES.
func (p *Parser) doubts(n *yaml.Node) (all []result.Doubt) {
	p.each(n, "doubts", func(key, values *yaml.Node) {
		d, err := result.NewDoubt(key.Value, p.list(values)...)
		if all = append(all, d); err != nil {
			p.Bad(key, "doubts: %s: %w", key.Value, err)
		}
	})
	return all
}

func (p *Parser) each(n *yaml.Node, what string, f func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		p.Bad(n, "%s: write KEY: VALUE lines", what)
		return
	}
	for pair := range slices.Chunk(n.Content, 2) {
		f(pair[0], pair[1])
	}
}

func items[T any](p *Parser, n *yaml.Node, what string, read func(one *yaml.Node) T) []T {
	if n.Kind != yaml.SequenceNode {
		p.Bad(n, "write a list of %s", what)
		return nil
	}
	return mapped(n.Content, read)
}

// Mapping reads the known keys of a mapping, each into a variable or by a function.
func (p *Parser) Mapping(n *yaml.Node, what string, known map[string]any) {
	p.each(n, what, func(key, value *yaml.Node) {
		p.at[key.Value] = value
		switch into := known[key.Value].(type) {
		case nil:
			names := slices.Sorted(maps.Keys(known))
			p.Bad(key, "%s: unknown key %q%s", what, key.Value, suggest.Hint(key.Value, names, "; it may have "+strings.Join(names, ", ")))
		case func(*yaml.Node):
			into(value)
		default:
			p.read(value, key.Value, reflect.ValueOf(into).Elem())
		}
	})
}

func (p *Parser) load(n *yaml.Node, what string) (l Load) {
	var flags []*yaml.Node
	l.Flags = []Flag{}
	commands := []string{"produce", "consume", "roundtrip"}
	if what == "load" { // a workload is the one load of a study
		commands = append(commands, string(plan.Workload))
	}
	p.each(n, what, func(key, value *yaml.Node) {
		switch {
		case key.Value == "command":
			l.Command = p.word(value, "command", commands)
		case key.Value == "name":
			l.Name = p.one(value)
		case key.Value == "file" && what == "load":
			l.File = p.one(value)
		case key.Value == "captured" && what == "loads":
			l.Captured = p.captured(value)
			defer func() { p.at["captured "+l.Name] = key }()
		case key.Value == "reads" && what != "prepare":
			l.Reads = p.one(value)
			defer func() { p.at["reads "+l.Name] = value }()
		default:
			flags = append(flags, key)
			for _, v := range p.list(value) {
				l.Flags = append(l.Flags, Flag{key.Value, v})
			}
		}
	})
	switch {
	case l.Command == "" && n.Kind == yaml.MappingNode:
		p.Bad(n, "%s: give its command: produce, consume or roundtrip", what)
	case l.IsWorkload() != (l.File != ""):
		p.Bad(n, "%s: command: run and file: FILE go together: a workload is read from its file", what)
	}
	p.at["load "+l.Name] = n
	for _, key := range flags {
		p.at["flag "+l.Name+" "+key.Value] = key
		if err := p.known(l.Command, key.Value); l.Command != "" && err != nil {
			p.Bad(key, "%s: %s", what, err)
		}
	}
	return l
}

// captured reads what a load was on the cluster that it was captured from: figures, and what cannot be made alike.
func (p *Parser) captured(n *yaml.Node) *result.Asked {
	around := p.at
	p.at = make(map[string]*yaml.Node) // its keys are no flags
	defer func() { p.at = around }()
	a, keys, known := new(result.Asked), 0.0, make(map[string]any)
	for name, into := range map[string]*float64{
		"rate": &a.Rate, "bytes": &a.Bytes, "batch-bytes": &a.Batch, "batch-records": &a.Records, "ratio": &a.Ratio, "keys": &keys, "zipf": &a.Zipf,
	} {
		known[name] = func(n *yaml.Node) {
			v, err := plan.ParseNumber(p.one(n))
			if *into = v; err != nil || v < 0 || v > 1e18 {
				p.Bad(n, "captured: %s %q: it must be a number from 0 to 1e18", name, n.Value)
			}
		}
	}
	known["unlike"] = &a.Unlike
	p.Mapping(n, "captured", known)
	a.Keys = int64(keys)
	return a
}

// Loads reads a list of loads. what is the key that it stands behind.
func (p *Parser) Loads(n *yaml.Node, what string) []Load {
	return items(p, n, "loads, each with its name and command", func(one *yaml.Node) Load {
		l := p.load(one, what)
		if l.Name == "" {
			p.Bad(one, "%s: give each load a name", what)
		}
		return l
	})
}

func (p *Parser) factors(n *yaml.Node) (factors []Factor) {
	p.each(n, "factors", func(key, value *yaml.Node) {
		f := Factor{Name: key.Value}
		p.at["factor "+key.Value] = value
		if value.Kind == yaml.MappingNode {
			var search, fine string
			p.Mapping(value, "factor", map[string]any{"search": &search, "fine": &fine})
			f.Search = parseSpan(search, fine)
		} else if f.Values = p.list(value); len(f.Values) == 0 || value.ShortTag() == "!!null" {
			p.Bad(value, "%s: give at least one value: [1, 2, 4]", key.Value)
		}
		factors = append(factors, f)
	})
	return factors
}

func (p *Parser) questions(n *yaml.Node) []Question {
	return items(p, n, "questions, as [{best: partitions, by: throughput}]", func(one *yaml.Node) Question {
		q := Question{By: metric.Rate}
		p.Mapping(one, "ask", map[string]any{
			"best": &q.Best, "scaling": &q.Scaling, "by": func(n *yaml.Node) {
				if _, of, _ := strings.Cut(n.Value, "."); slices.Contains(metric.Names(), of) { // of a load of a workload
					q.By = Metric(p.one(n))
				} else {
					q.By = Metric(p.word(n, "by", metric.Names()))
				}
			},
		})
		if p.at[fmt.Sprint("ask ", slices.Index(n.Content, one))] = one; (q.Best == "") == (q.Scaling == "") {
			p.Bad(one, "ask: give either best or scaling, with the name of a factor")
		}
		return q
	})
}

// reader reads a text as a flag reads it.
type reader struct {
	wants string // what to write; "": the error says it
	read  func(text string) (any, error)
}

var readers = map[reflect.Type]reader{
	reflect.TypeFor[string]():        {"", func(s string) (any, error) { return s, nil }},
	reflect.TypeFor[bool]():          {"true or false", func(s string) (any, error) { return strconv.ParseBool(s) }},
	reflect.TypeFor[int]():           {"a number", func(s string) (any, error) { n, err := plan.ParseCount(s); return int(n), err }},
	reflect.TypeFor[int64]():         {"", func(s string) (any, error) { return plan.ParseVolume(s) }},
	reflect.TypeFor[uint64]():        {"a number from 0", func(s string) (any, error) { return strconv.ParseUint(s, 10, 64) }},
	reflect.TypeFor[float64]():       {"a number", func(s string) (any, error) { return plan.ParseNumber(s) }},
	reflect.TypeFor[metric.Expr]():   {"", func(s string) (any, error) { return metric.Parse(s) }},
	reflect.TypeFor[plan.Duration](): {"a time (5s, 2m), or 0", func(s string) (any, error) { d, err := plan.ParseTime(s, time.Second); return plan.Duration(d), err }},
}

// read reads the node of a key into a variable, or into each item of a list.
func (p *Parser) read(n *yaml.Node, key string, into reflect.Value) {
	if into.Kind() == reflect.Slice {
		items := input.Items(n)
		into.Set(reflect.MakeSlice(into.Type(), len(items), len(items)))
		for i, one := range items {
			p.read(one, key, into.Index(i))
		}
		return
	}
	of := readers[into.Type()]
	switch value, err := of.read(p.one(n)); {
	case err == nil:
		into.Set(reflect.ValueOf(value))
	case of.wants == "":
		p.Bad(n, "%s: %w", key, err)
	default:
		p.Bad(n, "%q does not fit: write %s", n.Value, of.wants)
	}
}

func (p *Parser) one(n *yaml.Node) string {
	text, err := input.Text(n)
	if err != nil {
		p.Bad(n, "%w", err)
	}
	return text
}

func (p *Parser) word(n *yaml.Node, what string, among []string) string {
	if text := p.one(n); slices.Contains(among, text) {
		return text
	}
	p.Bad(n, "%s %q: it must be one of %s%s", what, n.Value, strings.Join(among, ", "), suggest.Hint(n.Value, among, ""))
	return ""
}

func (p *Parser) list(n *yaml.Node) []string { return mapped(input.Items(n), p.one) }
