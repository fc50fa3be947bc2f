package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

func TestExpandListsRepeatsTheFlagForEachValue(t *testing.T) {
	for _, tc := range []struct {
		name     string
		in, want []string
	}{
		{"nothing", nil, nil},
		{"flags that are no lists stay", []string{"produce", "--topic", "x", "-q"}, []string{"produce", "--topic", "x", "-q"}},
		{
			"a list in the middle",
			[]string{"--producer-props", "a=1", "b=2", "--topic", "x"},
			[]string{"--producer-props=a=1", "--producer-props=b=2", "--topic", "x"},
		},
		{"a list at the end", []string{"--command-property", "a=1", "b=2"}, []string{"--command-property=a=1", "--command-property=b=2"}},
		{
			"the flag again",
			[]string{"--command-property", "a=1", "--command-property", "b=2", "c=3"},
			[]string{"--command-property=a=1", "--command-property=b=2", "--command-property=c=3"},
		},
		{
			"values with = and spaces",
			[]string{"--command-property", "sasl.jaas.config=x username=\"a=b\";", "c=d=e"},
			[]string{"--command-property=sasl.jaas.config=x username=\"a=b\";", "--command-property=c=d=e"},
		},
		{"an empty value", []string{"--topic-config", "a="}, []string{"--topic-config=a="}},
		{"what is no key=value ends the list", []string{"--header", "a=1", "stray"}, []string{"--header=a=1", "stray"}},
		{"a first one without = is told so later", []string{"--header", "a"}, []string{"--header=a"}},
		{"one that is written with = is complete", []string{"--header=a=1", "b=2"}, []string{"--header=a=1", "b=2"}},
		{"nothing is a list behind --", []string{"--header", "a=1", "--", "--header", "b=1", "c=2"}, []string{"--header=a=1", "--", "--header", "b=1", "c=2"}},
	} {
		got := must.Have(ExpandLists(tc.in))(t)
		must.Match(t, tc.want, got, "%s: ExpandLists(%q)", tc.name, tc.in)
	}
}

func TestExpandListsRefusesAListWithNothingInIt(t *testing.T) {
	for _, in := range [][]string{
		{"--producer-props"}, {"--producer-props", "--topic", "x"}, {"--producer-props", "-q"}, {"--producer-props", "--", "a=1"},
	} {
		got, err := ExpandLists(in)
		must.Err(t, "--producer-props needs at least one key=value", err, "ExpandLists(%q) = %q,", in, got)
	}
}

// FuzzExpandLists reads arguments, one a line.
//   - It never panics.
//   - No argument is lost, and none is made up: what the flags were repeated for
//     gives the arguments again.
//   - What is expanded is not expanded further.
func FuzzExpandLists(f *testing.F) {
	for _, s := range []string{
		"", "--producer-props\na=1\nb=2\n--topic\nx", "--header\na=b=c\n--header\nd=\n--\n--header", "--topic-config", "a=1\n--command-property\n=\n\n-q",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		args := strings.Split(s, "\n")
		out, err := ExpandLists(args)
		if err != nil {
			return
		}
		if back := collapse(out, args); !slices.Equal(back, args) {
			t.Fatalf("ExpandLists(%q) = %q, which stands for %q", args, out, back)
		}
		again, err := ExpandLists(out)
		must.Hold(t, err == nil && slices.Equal(again, out), "ExpandLists(%q) = %q, %v", out, again, err)
	})
}

// collapse undoes ExpandLists: a value belongs to the flag before it. in tells
// where the flag itself stood.
func collapse(out, in []string) []string {
	var back []string
	for _, a := range out {
		at := len(back)
		name, value, ok := strings.Cut(a, "=")
		switch {
		case !ok || !listFlags[name] || at < len(in) && in[at] == a:
			back = append(back, a)
		case at < len(in) && in[at] == name:
			back = append(back, name, value)
		default:
			back = append(back, value)
		}
	}
	return back
}
