package cluster

import (
	"errors"
	"fmt"
	"github.com/kt-bench/kt/internal/must"
	"slices"
	"testing"
)

func TestHostsAreChosenByNameTagAndRole(t *testing.T) {
	silent := errors.New("vm15 (10.0.0.5:7946): it did not answer")
	peer := func(name, role string, err error, tags ...string) Peer {
		p := Peer{Err: err}
		p.Name, p.Role, p.Tags = name, role, tags
		return p
	}
	among := []Peer{
		peer("vm16", "client", nil, "fast"), peer("vm14", "client", nil), peer("kafka1", "broker", nil, "fast"), peer("vm15", "client", silent, "slow"),
		peer("all", "broker", nil, "clients"), // kt gives no agent such a name
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
		{"brokers", []string{"brokers"}, []string{"all", "kafka1"}, ""},
		{"clients are no broker with that tag", []string{"clients"}, []string{"vm14", "vm15", "vm16"}, "--on: vm15 (10.0.0.5:7946): it did not answer"},
		{"all are all but brokers, and one does not answer", []string{"all"}, []string{"vm14", "vm15", "vm16"}, "--on: vm15 (10.0.0.5:7946): it did not answer"},
		{"a tag of one that does not answer", []string{"slow"}, []string{"vm15"}, "--on: vm15 (10.0.0.5:7946): it did not answer"},
		{"one that does not answer and is not meant", []string{"vm14", "vm16"}, []string{"vm14", "vm16"}, ""},
		{"nobody", []string{"vm17"}, nil, "--on vm17: no agent has that name, tag or role; did you mean vm14?"},
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

func TestWhoIsThereIsToldWhenNobodyIsMeant(t *testing.T) {
	broker := Peer{}
	broker.Name, broker.Role, broker.Tags = "kafka1", "broker", []string{"fast"}
	for word, want := range map[string]string{
		"clients": "--on clients: no agent has that name, tag or role; there are kafka1 (broker; tags fast)",
		"all":     "--on all: no agent has that name, tag or role; all leaves out the hosts of brokers, which have to be named; there are kafka1 (broker; tags fast)",
		"broker":  "--on broker: no agent has that name, tag or role; did you mean brokers?",
	} {
		if _, err := choose("on", []string{word}, []Peer{broker}); err == nil || err.Error() != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestTwoAgentsOfOneNameAreTwo(t *testing.T) {
	at := func(name, addr string) Peer {
		p := Peer{Addr: addr}
		p.Name, p.Role = name, RoleClient
		return p
	}
	among := []Peer{at("vm1", "10.0.0.1:7946"), at("vm1", "10.0.0.2:7946"), at("vm2", "10.0.0.3:7946")}
	on, err := choose("on", []string{"vm1", "all", "vm1"}, among)
	if err != nil || len(on) != 3 {
		t.Fatalf("chosen are %+v, %v", on, err)
	}
	o := loadOrder{Run: "r", Epoch: "e", Processes: 1, Load: on}
	want := "two agents are called vm1, at 10.0.0.1:7946 and 10.0.0.2:7946: give each a --name of its own, or name it once if it is one"
	must.Match(t, want, fmt.Sprint(o.check()), "the order")
	o.Load, o.Watch = on[:1], on[2:]
	if err := o.check(); err != nil {
		t.Errorf("one of them: %v", err)
	}
}
