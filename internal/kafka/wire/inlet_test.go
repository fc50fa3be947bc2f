package wire

import (
	"encoding/binary"
	"io"
	"net"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/must"
)

// An answer whose request was cancelled is as large as any other, and must not stay in memory.
func TestAnAnswerThatNobodyTakesGoesWithItsConnection(t *testing.T) {
	const version = 11
	here, there := net.Pipe()
	defer func() { _ = there.Close() }()
	var i inlet
	c := i.over(here)
	go func() {
		_, _ = io.ReadFull(there, make([]byte, 12))
		answer := kmsg.NewPtrFetchResponse()
		answer.Version = version
		b := answer.AppendTo(make([]byte, 8)) // its length and the id of the request, 0
		binary.BigEndian.PutUint32(b, uint32(len(b)-4))
		_, _ = there.Write(b)
	}()
	request := make([]byte, 12)
	binary.BigEndian.PutUint16(request[atKey:], fetchKey)
	binary.BigEndian.PutUint16(request[atVersion:], version)
	must.Have(c.Write(request))(t)
	must.Have(c.Read(make([]byte, 100)))(t)
	held := func() (n int) {
		i.answers.Range(func(any, any) bool { n++; return true })
		return n
	}
	if held() != 1 {
		t.Fatalf("%d answers before the connection ends, want 1", held())
	}
	if err := c.Close(); err != nil || held() != 0 {
		t.Errorf("%v, %d answers after the connection has ended", err, held())
	}
}
