package wire

import (
	"errors"
	"fmt"
)

// What went wrong, for errors.Is.
var (
	// ErrAuth: the other side has another key, or is no kt agent. It does not say which.
	ErrAuth = errors.New("the key was not accepted")
	// ErrNeedsKey: without a key streams go to this machine only.
	ErrNeedsKey = errors.New("a key is needed")
	// ErrVersion: the other side has the key, and speaks another version of the protocol.
	ErrVersion = errors.New("another version of the protocol")
	// ErrBusy: the other side serves as many streams as it may.
	ErrBusy = errors.New("too many streams")
	// ErrTooLarge: a message, or what a frame says of its length, is over MaxFrame.
	ErrTooLarge = errors.New("message too large")
	// ErrForged: a frame is not the next one that the other side sealed.
	ErrForged = errors.New("the stream was tampered with")
	// ErrClosed: the stream has ended, on either side or between them.
	ErrClosed = errors.New("the stream is closed")

	errStranger = errors.New("neither a stream nor of the gossip")
)

// failure is an error whose sentence stands for itself, and which is still told apart.
type failure struct {
	text string
	is   []error
}

func (f *failure) Error() string   { return f.text }
func (f *failure) Unwrap() []error { return f.is }

func failed(is error, format string, args ...any) error {
	return &failure{text: fmt.Sprintf(format, args...), is: []error{is}}
}
