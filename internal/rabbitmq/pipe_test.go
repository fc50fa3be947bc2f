package rabbitmq

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/must"
)

// The rest of a message comes in later reads than its beginning.
func TestAMessageThatFillsThePrefetchIsReadToItsEnd(t *testing.T) {
	ours, theirs := net.Pipe()
	p := newPipe(ours)
	defer func() { _ = p.Close() }()
	p.limit(1, 0)
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

// delivered returns the frames of a message of a channel, with as many bytes as its header announces, or fewer.
func delivered(channel uint16, announced uint64, body int) []byte {
	header := binary.BigEndian.AppendUint64([]byte{0, 60, 0, 0}, announced)
	return slices.Concat(
		frame(methodFrame, channel, append([]byte{0, 60, 0, 60}, "consumer tag and more"...)),
		frame(headerFrame, channel, append(header, 0, 0)), frame(bodyFrame, channel, make([]byte, body)))
}

func TestAMessageThatIsTooLargeEndsReadingBeforeItsBody(t *testing.T) {
	for name, sent := range map[string][]byte{
		"one":              delivered(2, 1<<62, 1),
		"several together": append(delivered(1, 700, 10), delivered(2, 700, 10)...),
	} {
		p := newPipe(&pieces{left: [][]byte{sent}})
		p.limit(10, 1000)
		_, err := io.Copy(io.Discard, p)
		var large *tooLarge
		if !errors.As(err, &large) || large.channel != 2 || p.refused() == nil {
			t.Errorf("%s: %v, want a message of channel 2 that is too large", name, err)
		}
	}
}

// Otherwise as many large ones wait as the prefetch allows.
func TestFewLargeMessagesWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		p := newPipe(ours)
		p.limit(10, 0)
		done := make(chan struct{}, 2)
		go func() {
			for range 5 {
				_, _ = theirs.Write(delivered(1, mostWaiting/2+1, 0))
				for left := mostWaiting/2 + 1; left > 0; left -= min(left, 100_000) {
					_, _ = theirs.Write(frame(bodyFrame, 1, make([]byte, min(left, 100_000))))
				}
			}
			done <- struct{}{}
		}()
		go func() { _, _ = io.Copy(io.Discard, p); done <- struct{}{} }()
		for range 2 {
			synctest.Wait()
			must.Match(t, 2, p.arrived(1), "messages wait")
			p.take(1, p.taken[1]+2)
		}
		_ = p.Close()
		_ = theirs.Close()
		<-done
		<-done
	})
}
