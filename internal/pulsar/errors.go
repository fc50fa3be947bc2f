package pulsar

import (
	"context"
	"errors"
	"strings"

	client "github.com/apache/pulsar-client-go/pulsar"
)

// unnamed are results of which the client does not write the name.
var unnamed = map[client.Result]string{
	client.InvalidStatus: "InvalidStatus", client.ProducerFenced: "ProducerFenced",
	client.MaxConcurrentOperationsReached:   "MaxConcurrentOperationsReached",
	client.TransactionCoordinatorNotEnabled: "TransactionCoordinatorNotEnabled",
}

// code returns the name of an error, as Pulsar has it.
func code(err error) string {
	var e *client.Error
	switch {
	case errors.As(err, &e):
		if name := unnamed[e.Result()]; name != "" {
			return name
		}
		before, name, _ := strings.Cut(e.Error(), ": ")
		if e.Result() == client.UnknownError && before != "" {
			return before // the broker's own
		}
		return name
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "client:" + err.Error()
	}
	// An error of the client below its results, such as one of its connection.
	text, _, _ := strings.Cut(err.Error(), "\n")
	return "client:" + text
}
