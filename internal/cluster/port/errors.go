package port

import (
	"errors"
	"fmt"
)

// Errors for errors.Is.
var (
	// ErrAuth: the other side has another key, or is no kt agent.
	ErrAuth = errors.New("the key was not accepted")
	// ErrNeedsKey: one side has a key and the other has none, or an address of another machine was
	// given without a key.
	ErrNeedsKey = errors.New("a key is needed")
	// ErrVersion: the other side has the key and another version of the protocol.
	ErrVersion = errors.New("another version of the protocol")
	// ErrBroken: the connection ended during the handshake. A later attempt may succeed.
	ErrBroken = errors.New("the handshake was not completed")
)

// OptionError is the error of an option: nothing was started, and a retry would fail too.
type OptionError struct{ Err error }

func (e *OptionError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *OptionError) Unwrap() error { return e.Err }

// Error is the reason why there is no connection, as a sentence for users without the address.
type Error struct {
	text string
	is   error
}

func (e *Error) Error() string { return e.text }

// Unwrap returns the error for errors.Is.
func (e *Error) Unwrap() error { return e.is }

func failed(is error, format string, args ...any) error {
	return &Error{text: fmt.Sprintf(format, args...), is: is}
}
