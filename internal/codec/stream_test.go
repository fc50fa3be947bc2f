package codec

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func TestAStreamIsReadUpToEachFlush(t *testing.T) {
	in, out := io.Pipe()
	w, err := NewStreamWriter(out)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewStreamReader(in)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	second := strings.Repeat(`{"window":{}}`+"\n", 20_000) // more than the window
	sent := make(chan error, 1)
	for range 3 {
		go func() {
			_, err := io.WriteString(w, second)
			if err == nil {
				err = w.Flush()
			}
			sent <- err
		}()
		got := make([]byte, len(second))
		if _, err := io.ReadFull(r, got); err != nil || string(got) != second {
			t.Fatalf("read %d bytes of a second, %v", len(got), err)
		}
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
	}
	go func() { sent <- w.Close(); _ = out.Close() }()
	if rest, err := io.ReadAll(r); len(rest) > 0 || err != nil {
		t.Errorf("%d bytes and %v after the end", len(rest), err)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

func TestAStreamThatWasCutOffIsAnError(t *testing.T) {
	var b bytes.Buffer
	w, err := NewStreamWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("a line\n")); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	r, err := NewStreamReader(&b)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if got, err := io.ReadAll(r); string(got) != "a line\n" || err == nil {
		t.Errorf("read %q and no error", got)
	}
}

func TestAStreamOfALargerWindowIsRefused(t *testing.T) {
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithWindowSize(64<<20), zstd.WithSingleSegment(false))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := NewStreamReader(&b)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if n, err := io.Copy(io.Discard, r); err == nil || n > 0 {
		t.Errorf("%d bytes were read", n)
	}
}
