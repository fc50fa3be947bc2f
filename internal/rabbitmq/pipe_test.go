package rabbitmq

import (
	"io"
	"net"
	"testing"
	"time"
)

// The rest of a message comes in later reads than its beginning.
func TestAMessageThatFillsThePrefetchIsReadToItsEnd(t *testing.T) {
	ours, theirs := net.Pipe()
	p := newPipe(ours)
	defer func() { _ = p.Close() }()
	p.limit(1)
	message := append(frame(methodFrame, 1, append([]byte{0, 60, 0, 60}, "consumer tag and more"...)), frame(bodyFrame, 1, make([]byte, 5000))...)
	go func() { _, _ = theirs.Write(message) }()
	read := make(chan error, 1)
	go func() {
		_, err := io.ReadAll(io.LimitReader(p, int64(len(message)))) // by and by
		read <- err
	}()
	select {
	case err := <-read:
		if err != nil || p.unread != 1 {
			t.Errorf("%v, %d messages", err, p.unread)
		}
	case <-time.After(5 * time.Second):
		t.Error("it waits for a message to be taken that has not come yet")
	}
}

func TestAFrameThatIsTooLargeEndsTheConnection(t *testing.T) {
	p := newPipe(&pieces{left: [][]byte{{methodFrame, 0, 1, 0, 2, 0, 1}}})
	if _, err := p.Read(make([]byte, 10)); err == nil {
		t.Error("memory is taken for it")
	}
}
