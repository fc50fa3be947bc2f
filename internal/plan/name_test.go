package plan

import (
	"strings"
	"testing"
)

func TestANameCanStandInAFilesNameAndInAList(t *testing.T) {
	for name, ok := range map[string]bool{
		"nightly": true, "a": true, "7": true, "A.b_c-d": true, "vm14.example.com": true, strings.Repeat("x", 64): true,
		"": false, ".x": false, "..": false, "_x": false, "-x": false, "a b": false, "a/b": false, "a,b": false,
		"a\n": false, "\na": false, "é": false, strings.Repeat("x", 65): false,
	} {
		if err := CheckName(name); (err == nil) != ok {
			t.Errorf("CheckName(%q) = %v", name, err)
		}
	}
}
