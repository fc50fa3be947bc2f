package input

import (
	"strconv"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
	"go.yaml.in/yaml/v3"
)

func line(n int) string { return "f:" + strconv.Itoa(n) }

func TestAScalarKeepsItsText(t *testing.T) {
	for text, want := range map[string]string{
		"1.10": "1.10", "0123": "0123", "1e3": "1e3", "True": "True", "2026-01-01": "2026-01-01", ".inf": ".inf", `"~"`: "~", "'null'": "null",
		`"a\tb"`: "a\tb", "|\n  a\n  b\n": "a\nb\n", ">-\n  a\n  b\n": "a b", "a\n  b": "a b", "!!str 1.10": "1.10", "": "", "''": "", "&x 007": "007", "<<": "<<",
	} {
		root, err := YAML([]byte("k: "+text), line)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		must.Match(t, want, must.Have(Text(root.Content[1]))(t), "%q", text)
	}
	for _, text := range []string{"null", "~", "Null", "[a]", "{a: b}", "!!binary aGVsbG8=", "!!int 7", "!mine a"} {
		root, err := YAML([]byte("k: "+text), line)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if got, err := Text(root.Content[1]); err == nil {
			t.Errorf("%q is taken for %q", text, got)
		}
	}
}

// flat writes the scalars of a tree.
func flat(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode {
		return n.Value
	}
	var all []string
	for _, child := range n.Content {
		all = append(all, flat(child))
	}
	return "(" + strings.Join(all, " ") + ")"
}

func TestAliasesAndMergesAreReplacedByWhatTheyStandFor(t *testing.T) {
	for text, want := range map[string]string{
		"a: &x 1.10\nb: *x":                                     "(a 1.10 b 1.10)",
		"a: &x {k: 1, l: 2}\nb: {l: 3, <<: *x}":                 "(a (k 1 l 2) b (l 3 k 1))",
		"a: &x {k: l}\nb: &y {l: 2}\nc: {<<: [*x, *y, {l: 4}]}": "(a (k l) b (l 2) c (k l l 2))",
		"a: &x {k: 1}\nb: &y {<<: *x, l: 2}\nc: {<<: *y}":       "(a (k 1) b (l 2 k 1) c (l 2 k 1))",
		"a: &x [1, 2]\nb: [*x, 3]":                              "(a (1 2) b ((1 2) 3))",
		"&k a: 1\nb: *k":                                        "(a 1 b a)",
	} {
		root, err := YAML([]byte(text), line)
		if err != nil || flat(root) != want {
			t.Errorf("%q: %v, %v, want %s", text, root, err, want)
		}
	}
	for text, want := range map[string]string{
		"a: 1\na: 2": "f:2: the key \"a\" already defined at line 1", "a: {b: 1, b: 2}": "f:1: the key \"b\"", "a: &a [*a]": "f:1: anchor 'a' value contains itself",
		"a: 1\n---\nb: 2": "f:2: only the part above the first ---", "a: [": "f:1: ", "a: *x": "f:1: unknown anchor 'x'", "<<: 5": "f:1: map merge requires",
		"a: !!int b": "f:1: cannot decode",
	} {
		if _, err := YAML([]byte(text), line); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	for _, text := range []string{"", "# nothing\n", "\n"} {
		if root, err := YAML([]byte(text), line); root != nil || err != nil {
			t.Errorf("%q: %v, %v", text, root, err)
		}
	}
}
