// Package secret keeps passwords and keys from being seen by accident.
//
//	password := secret.New("hunter2")
//	fmt.Printf("%+v", access)                  // … Password:[hidden] …
//	login(user, password.Reveal())
//
// It knows nothing of what the secrets are for. Whoever searches the code for Reveal sees
// every place where one leaves its Text.
package secret

import (
	"fmt"
	"io"
)

// hidden stands for every secret, also for an empty one.
const hidden = "[hidden]"

// Text is a string that only Reveal shows. Printing, logging and encoding it as text, JSON
// or YAML gives [hidden], encoding/gob refuses it, and nothing decodes into it. The zero value
// is the empty string.
//
// The string is held by a function, because fmt and other printers read unexported fields by
// reflection, without calling the methods that would hide it.
type Text struct{ reveal func() string }

var _ fmt.Formatter = Text{}

// New returns a Text that hides s, and makes Scrub look for it.
func New(s string) Text {
	Learn(s)
	return Cover(s)
}

// Cover returns a Text that hides s. Scrub does not look for it: it is for names that may stand elsewhere, such as that of a user.
func Cover(s string) Text { return Text{func() string { return s }} }

// Reveal returns the string.
func (t Text) Reveal() string {
	if t.reveal == nil {
		return ""
	}
	return t.reveal()
}

// String returns [hidden].
func (Text) String() string { return hidden }

// Format writes [hidden], whatever the verb and its flags.
func (Text) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, hidden) } // fmt ignores the error too

// MarshalText returns [hidden]. JSON, YAML, XML and slog call it too.
func (Text) MarshalText() ([]byte, error) { return []byte(hidden), nil }
