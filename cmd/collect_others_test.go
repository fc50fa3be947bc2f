package cmd

import (
	"errors"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/cluster"
	"github.com/kt-bench/kt/internal/result"
)

func TestAHostWithoutAPartInTheRunIsNoProblemOfIt(t *testing.T) {
	away := &cluster.PeerError{Peer: "vm15", Err: errors.New("no route to host")}
	for _, tc := range []struct {
		name  string
		part  *result.Part
		keeps bool
	}{
		{"no part", &result.Part{Roster: []result.Member{{Host: "vm14"}, {Host: "vm16"}}}, false},
		{"a part", &result.Part{Roster: []result.Member{{Host: "vm14"}, {Host: "vm15"}}}, true},
		{"parts that are not listed", &result.Part{Run: "nightly"}, true},
		{"a run of its own", nil, true},
	} {
		var said strings.Builder
		env := Env{Stderr: &said}
		kept := env.withoutOthers([]error{away}, &result.Result{Header: result.Header{Part: tc.part}})
		if (len(kept) == 1) != tc.keeps || strings.Contains(said.String(), "vm15") == tc.keeps {
			t.Errorf("%s: kept %v, said %q", tc.name, kept, said.String())
		}
	}
}
