package cluster

import (
	"strings"
	"testing"
)

func TestAnAgentIsCalledWhatItsGossipCarries(t *testing.T) {
	for _, tc := range []struct {
		name string
		info Info
		want string // "": it may
	}{
		{"a name and tags of the longest", Info{Name: strings.Repeat("n", 64), Role: "client", Version: "v1", Tags: []string{strings.Repeat("t", 32)}}, ""},
		{"a name that is longer", Info{Name: strings.Repeat("n", 65), Role: "client", Version: "v1", Tags: nil}, "--name"},
		{"a tag that is longer", Info{Name: "a", Role: "client", Version: "v1", Tags: []string{strings.Repeat("t", 33)}}, "--tags"},
		{"a tag that looks like a setting", Info{Name: "a", Role: "client", Version: "v1", Tags: []string{"rack=7"}}, "--tags"},
		{"too many tags", Info{Name: "a", Role: "client", Version: "v1", Tags: make([]string, 17)}, "--tags"},
		{"no role", Info{Name: "a"}, "--role"},
	} {
		if err := tc.info.check(); (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
}
