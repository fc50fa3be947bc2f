package secret

import (
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

func TestWhatMayBeASecretIsHidden(t *testing.T) {
	for text, want := range must.Rows[map[string]string](t, "hide") {
		must.Match(t, want, Hide(text), "Hide(%q)", text)
	}
	must.Match(t, hidden, HideValue("Authorization", "s"), "an authorization")
	must.Match(t, "1", HideValue("trace", "1"), "a trace")
}
