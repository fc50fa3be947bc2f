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
		{"a name and tags of the longest", Info{strings.Repeat("n", 64), "client", "v1", []string{strings.Repeat("t", 32)}}, ""},
		{"a name that is longer", Info{strings.Repeat("n", 65), "client", "v1", nil}, "--name"},
		{"a tag that is longer", Info{"a", "client", "v1", []string{strings.Repeat("t", 33)}}, "--tags"},
		{"a tag that looks like a setting", Info{"a", "client", "v1", []string{"rack=7"}}, "--tags"},
		{"too many tags", Info{"a", "client", "v1", make([]string, 17)}, "--tags"},
		{"no role", Info{Name: "a"}, "--role"},
	} {
		if err := tc.info.check(); (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
}
