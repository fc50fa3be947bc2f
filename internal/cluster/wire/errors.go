package wire

import (
	"errors"
	"fmt"
)

// Errors for errors.Is.
var (
	// ErrAuth: the other side has another key, or is no kt agent. A dialler cannot tell which.
	ErrAuth = errors.New("the key was not accepted")
	// ErrNeedsKey: without a key, streams to other machines are not possible.
	ErrNeedsKey = errors.New("a key is needed")
	// ErrVersion: the other side has the key and another version of the protocol.
	ErrVersion = errors.New("another version of the protocol")
	// ErrBusy: the other side has reached its bound of streams.
	ErrBusy = errors.New("too many streams")
	// ErrTooLarge: a message, or the length of a frame, is over MaxFrame.
	ErrTooLarge = errors.New("message too large")
	// ErrForged: a frame is not the next one that the other side sealed.
	ErrForged = errors.New("the stream was tampered with")
	// ErrClosed: one side or the network has ended the stream.
	ErrClosed = errors.New("the stream is closed")

	errStranger = errors.New("neither a stream nor of the gossip")
)

// failure is an error with a text of its own, which errors.Is still recognizes.
type failure struct {
	text string
	is   []error
}

func (f *failure) Error() string   { return f.text }
func (f *failure) Unwrap() []error { return f.is }

func failed(is error, format string, args ...any) error {
	return &failure{text: fmt.Sprintf(format, args...), is: []error{is}}
}
