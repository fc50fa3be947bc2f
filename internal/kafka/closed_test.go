package kafka

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
)

func TestABrokerThatClosesAConnectionAtOnceHasALimitOfThem(t *testing.T) {
	refused := errors.New("refused")
	for _, err := range []error{io.EOF, fmt.Errorf("read: %w", syscall.ECONNRESET)} {
		if got := Closed(err); !strings.Contains(got.Error(), "max.connections.per.ip") {
			t.Errorf("%v: %v", err, got)
		}
	}
	if got := Closed(refused); !errors.Is(got, refused) {
		t.Errorf("%v, want it as it is", got)
	}
}
