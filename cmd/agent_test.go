package cmd

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/cluster"
)

// FuzzOrder reads what an agent may say to a process. Whatever comes, it is an order of
// bounded length or an error, and what follows the line is left for the next order.
func FuzzOrder(f *testing.F) {
	f.Add([]byte(`{"job":{"part":{"run":"r","host":"h","process":1},"plan":{"command":"produce"},"command_line":[],"run_file":"x"}}` + "\n{}\n"))
	f.Add([]byte(`{"start":{"at":"2026-01-31T15:04:05Z","agreed":{"at":"2026-01-31T15:04:05Z"}}}` + "\n"))
	f.Add([]byte("{\"stop\":true}\n"))
	f.Add([]byte("no order\n"))
	f.Add(bytes.Repeat([]byte("x"), 100_000))
	f.Fuzz(func(t *testing.T, data []byte) {
		in := bufio.NewReader(bytes.NewReader(data))
		if _, err := readOrder(in); err != nil {
			return
		}
		rest, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		_, want, _ := bytes.Cut(data, []byte("\n"))
		if !bytes.Equal(rest, want) {
			t.Errorf("%q is left of %q", rest, data)
		}
	})
}

func TestAnOrderThatIsTooLongIsAnError(t *testing.T) {
	in := bufio.NewReader(strings.NewReader(strings.Repeat(" ", longestOrder+100_000) + "{}\n"))
	if m, err := readOrder(in); err == nil {
		t.Errorf("%+v", m)
	}
}

func TestAUnitHasTheWordsOfTheCommandLine(t *testing.T) {
	for _, r := range []struct{ name, word, want string }{
		{"a plain word", "--join", "--join"},
		{"one with a space", "a b", `"a b"`},
		{"a regular expression", `kt-.*\.x`, `"kt-.*\\.x"`},
		{"what systemd would replace", "%h$HOME", "%%h$$HOME"},
		{"a quotation mark", `say "no"`, `"say \"no\""`},
		{"nothing", "", `""`},
	} {
		if got := quoteUnit(r.word); got != r.want {
			t.Errorf("%s: %s, want %s", r.name, got, r.want)
		}
	}
}

func TestHostsAreChosenByNameTagAndRole(t *testing.T) {
	silent := errors.New("did not answer")
	peer := func(name, role string, err error, tags ...string) cluster.Peer {
		p := cluster.Peer{Err: err}
		p.Name, p.Role, p.Tags = name, role, tags
		return p
	}
	among := []cluster.Peer{
		peer("vm16", "client", nil, "fast"), peer("vm14", "client", nil), peer("kafka1", "broker", nil, "fast"), peer("vm15", "client", silent, "slow"),
	}
	for _, r := range []struct {
		name  string
		words []string
		want  []string
		err   string
	}{
		{"by name", []string{"vm14"}, []string{"vm14"}, ""},
		{"once, in the order of names", []string{"vm16", "vm14", "vm16"}, []string{"vm14", "vm16"}, ""},
		{"by a tag, which a broker's host may have", []string{"fast"}, []string{"kafka1", "vm16"}, ""},
		{"brokers", []string{"brokers"}, []string{"kafka1"}, ""},
		{"all are all but brokers, and one does not answer", []string{"all"}, []string{"vm14", "vm15", "vm16"}, "--on: vm15 at : did not answer"},
		{"a tag of one that does not answer", []string{"slow"}, []string{"vm15"}, "--on: vm15 at : did not answer"},
		{"one that does not answer and is not meant", []string{"vm14", "vm16"}, []string{"vm14", "vm16"}, ""},
		{"nobody", []string{"vm17"}, nil, "--on vm17: no agent has that name or tag; did you mean vm14?"},
	} {
		got, err := choose("on", r.words, among)
		var names []string
		for _, p := range got {
			names = append(names, p.Name)
		}
		text := ""
		if err != nil {
			text = err.Error()
		}
		if !slices.Equal(names, r.want) || text != r.err {
			t.Errorf("%s: %q, %q, want %q, %q", r.name, names, text, r.want, r.err)
		}
	}
}
