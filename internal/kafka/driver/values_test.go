package driver

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/plan"
)

// Where each payload begins and ends takes memory too, more than the file where they are short.
func TestAPayloadFileHoldsSoManyPayloadsAtMost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "payloads")
	for over, want := range map[int]string{0: "", 1: "it holds more than 4194304 payloads: a sample of them will do"} {
		if err := os.WriteFile(path, bytes.Repeat([]byte("a\n"), maxPayloads+over), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := MakeValues(&plan.Plan{Payload: plan.Payload{Kind: plan.File, File: path, Delimiter: "\n"}})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d over: %v, want %q", over, err, want)
		}
	}
}
