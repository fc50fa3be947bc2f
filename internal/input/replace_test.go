package input

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

func TestAFileIsReplacedAsAWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	torn := func(w io.Writer) error {
		_, _ = io.WriteString(w, "half")
		return errors.New("no space left on device")
	}
	for _, old := range []string{"", "one", "two"} {
		if err := Replace(path, 0o600, torn); err == nil {
			t.Error("a write that failed is no error")
		}
		if got, _ := os.ReadFile(path); string(got) != old {
			t.Errorf("the file has %q after an error, want %q", got, old)
		}
		if err := ReplaceText(path, 0o640, []byte("two")); old != "" && err != nil {
			t.Error(err)
		}
		if old == "" {
			if err := ReplaceText(path, 0o640, []byte("one")); err != nil {
				t.Error(err)
			}
		}
	}
	must.Match(t, 0o640, must.Have(os.Stat(path))(t).Mode(), "the value")
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("it left %v", files)
	}
}
