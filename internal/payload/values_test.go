package payload

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/plan"
)

// Where each payload begins and ends takes memory too, more than the file where they are short.
func TestAPayloadFileHoldsSoManyPayloadsAtMost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "payloads")
	for over := range 2 {
		if err := os.WriteFile(path, bytes.Repeat([]byte("a\n"), maxPayloads+over), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := MakeValues(&plan.Plan{Payload: plan.Payload{Kind: plan.File, File: path, Delimiter: "\n"}})
		if (err != nil) != (over > 0) || err != nil && (!strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), strconv.Itoa(maxPayloads))) {
			t.Errorf("%d over: %v", over, err)
		}
	}
}
