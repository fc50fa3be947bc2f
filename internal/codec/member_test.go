package codec

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/kt-bench/kt/internal/must"
)

func TestMembersAreCutAsTheyComeAndReadByOthersAsOneText(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var file, all []byte
	var texts [][]byte
	for i := range 8 {
		text := append(bytes.Repeat([]byte(`{"window":{}}`), rng.IntN(20_000)), '\n')
		texts, all = append(texts, text), append(all, text...)
		file = NewPacker(i%2 == 0).Append(file, text, byte(i))
	}
	d := must.Have(zstd.NewReader(bytes.NewReader(file)))(t)
	defer d.Close()
	if got, err := io.ReadAll(d); err != nil || !bytes.Equal(got, all) {
		t.Errorf("zstd reads %d bytes, want %d; %v", len(got), len(all), err)
	}
	for i, rest := 0, file; len(rest) > 0; i++ {
		m, size, err := CutMember(rest)
		if err != nil || m.Mark != byte(i) || m.Lines != 1 {
			t.Fatalf("member %d has mark %d and %d lines, %v", i, m.Mark, m.Lines, err)
		}
		if got, err := m.Append([]byte("x")); err != nil || !bytes.Equal(got[1:], texts[i]) {
			t.Fatalf("member %d is read as another text, %v", i, err)
		}
		for _, cut := range []int{0, 3, memberHead, size - 1} {
			if _, size, err := CutMember(rest[:cut]); size != 0 || err != nil {
				t.Fatalf("%d of its bytes are a member of %d, %v", cut, size, err)
			}
		}
		rest = rest[size:]
	}
}

func TestBytesThatAreNoMemberAreRefused(t *testing.T) {
	good := NewPacker(false).Append(nil, []byte("a line\nand one more\n"), 0)
	for name, change := range map[string]func(b []byte) []byte{
		"another magic":        func(b []byte) []byte { b[1]++; return b },
		"a longer head":        func(b []byte) []byte { b[4]++; return b },
		"too long":             func(b []byte) []byte { b[11] = 0xff; return b },
		"another number":       func(b []byte) []byte { b[12]++; return b },
		"a changed byte":       func(b []byte) []byte { b[len(b)-6] ^= 4; return b },
		"no end of a line":     func([]byte) []byte { return NewPacker(false).Append(nil, []byte("a line\nand"), 0) },
		"more than a file has": func([]byte) []byte { return NewPacker(false).Append(nil, make([]byte, maxMember+1), 0) },
	} {
		m, _, err := CutMember(change(bytes.Clone(good)))
		if err == nil {
			_, err = m.Append(nil)
		}
		if err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if _, _, err := CutMember(make([]byte, 20)); !errors.Is(err, ErrMember) {
		t.Errorf("the error is %v", err)
	}
}
