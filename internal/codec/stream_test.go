package codec

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/kt-bench/kt/internal/must"
)

// onDemand is a connection whose sender writes when the reader asks for more.
type onDemand struct {
	sent  bytes.Buffer
	send  func()
	times int
}

func (o *onDemand) Read(b []byte) (int, error) {
	if o.sent.Len() == 0 {
		o.times++
		o.send()
	}
	return o.sent.Read(b)
}

func TestAStreamIsReadUpToEachFlush(t *testing.T) {
	const seconds = 3
	second := strings.Repeat(`{"window":{}}`+"\n", 20_000) // more than the window
	var from onDemand
	w := must.Have(NewStreamWriter(&from.sent))(t)
	from.send = func() {
		if from.times > seconds {
			if err := w.Close(); err != nil {
				t.Error(err)
			}
			return
		}
		if _, err := io.WriteString(w, second); err != nil {
			t.Error(err)
		}
		if err := w.Flush(); err != nil {
			t.Error(err)
		}
	}
	r := must.Have(NewStreamReader(&from))(t)
	defer func() { _ = r.Close() }()
	for n := 1; n <= seconds; n++ {
		got := make([]byte, len(second))
		if _, err := io.ReadFull(r, got); err != nil || string(got) != second || from.times != n {
			t.Fatalf("read %d bytes of second %d after %d were sent, %v", len(got), n, from.times, err)
		}
	}
	if rest, err := io.ReadAll(r); len(rest) > 0 || err != nil {
		t.Errorf("%d bytes and %v after the end", len(rest), err)
	}
}

func TestAStreamThatWasCutOffIsAnError(t *testing.T) {
	var b bytes.Buffer
	w := must.Have(NewStreamWriter(&b))(t)
	must.Have(w.Write([]byte("a line\n")))(t)
	must.Do(t, w.Flush())
	r := must.Have(NewStreamReader(&b))(t)
	defer func() { _ = r.Close() }()
	if got, err := io.ReadAll(r); string(got) != "a line\n" || err == nil {
		t.Errorf("read %q and no error", got)
	}
}

func TestAStreamOfALargerWindowIsRefused(t *testing.T) {
	var b bytes.Buffer
	w := must.Have(zstd.NewWriter(&b, zstd.WithWindowSize(64<<20), zstd.WithSingleSegment(false)))(t)
	must.Have(w.Write(make([]byte, 1<<20)))(t)
	must.Do(t, w.Close())
	r := must.Have(NewStreamReader(&b))(t)
	defer func() { _ = r.Close() }()
	if n, err := io.Copy(io.Discard, r); err == nil || n > 0 {
		t.Errorf("%d bytes were read", n)
	}
}
