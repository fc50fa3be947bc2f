package tune

import (
	"testing"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/profiles"
)

// The kernel takes a number that begins with 0 for an octal one. kt writes and compares decimal ones.
func TestARuleIsDecimal(t *testing.T) {
	for text, want := range map[string]string{
		"010": "10", ">= 0262144": "262144", "04096 - 0016777216": "4096 - 16777216", "0": "0", "0|01": "0|1", "00": "0", "<=0.50": "0.50", "performance": "performance",
	} {
		r, err := ParseRule(text)
		if err != nil || r.Value != want {
			t.Errorf("%q is %q, %v, want %q", text, r.Value, err, want)
		}
	}
	if r, _ := ParseRule("010"); !r.Holds("10") || r.Holds("8") || r.Target("60") != "10" {
		t.Errorf("%+v", r)
	}
}

// A profile of the user's is read as it stands in its file.
func TestAProfileIsReadAsItStandsInItsFile(t *testing.T) {
	for text, want := range map[string]string{
		"settings: {vm.swappiness: ~}":                     "profile ./p.yaml, line 1: vm.swappiness: ~ is no value",
		"settings:\n  vm.swappiness: !!int 010":            "line 2: vm.swappiness: !!int 010: leave the tag out",
		"settings: {vm.swappiness: 0x10}":                  "vm.swappiness: ",
		"settings: {vm.swappiness: 1}\n---\nbase: latency": "only the part above the first --- would count",
		"settings: {vm.swappiness: 1, vm.swappiness: 2}":   "already defined",
	} {
		_, err := LoadProfile("./p.yaml", profiles.Of("tune"), func(string) ([]byte, error) { return []byte(text), nil })
		must.Err(t, want, err, "%q", text)
	}
	p, err := LoadProfile("./p.yaml", profiles.Of("tune"), func(string) ([]byte, error) { return []byte("settings: {vm.swappiness: 010, cpu.governor: }"), nil })
	if err != nil || p.rules["vm.swappiness"].Value != "10" || !p.rules["cpu.governor"].Leave() {
		t.Errorf("%+v, %v", p, err)
	}
}
