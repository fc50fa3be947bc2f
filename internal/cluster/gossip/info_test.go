package gossip

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kt-bench/kt/internal/cluster/port"
	"github.com/kt-bench/kt/internal/must"
)

func TestWhatAnAgentTellsArrives(t *testing.T) {
	want := Info{
		Name: "vm-14.rack_7", Role: "broker", Tags: []string{"rack-7", "zone.a", "ssd"},
	}
	data := must.Have(want.encode(""))(t)
	got := must.Have(decode(want.Name, data))(t)
	must.Match(t, want, got, "")
}

func TestWhatDoesNotFitIsRefusedNamingTheFlag(t *testing.T) {
	long := make([]string, tagsLimit)
	for i := range long {
		long[i] = strings.Repeat("t", tagLimit)
	}
	for _, c := range []struct {
		what string
		info Info
		want string
	}{
		{"no name", Info{}, "--name"},
		{"a name that is too long", Info{Name: strings.Repeat("n", nameLimit+1)}, "--name"},
		{"a name that moves the cursor", Info{Name: "a\x1b[2J"}, "--name"},
		{"a name that is a path", Info{Name: "../a"}, "--name"},
		{"a name that begins like a flag", Info{Name: "-a"}, "--name"},
		{"a name of another script", Info{Name: "аgent"}, "--name"},
		{"a role of two words", Info{Name: "a", Role: "a b"}, "--role"},
		{"a tag that looks like a setting", Info{Name: "a", Tags: []string{"rack=7"}}, "--tags"},
		{"a tag with a comma", Info{Name: "a", Tags: []string{"a,b"}}, "--tags"},
		{"a tag that rings the bell", Info{Name: "a", Tags: []string{"a\a"}}, "--tags"},
		{"an empty tag", Info{Name: "a", Tags: []string{""}}, "--tags"},
		{"too many tags", Info{Name: "a", Tags: make([]string, tagsLimit+1)}, "--tags"},
		{"tags that are too long together", Info{Name: "a", Tags: long}, "--tags"},
	} {
		_, err := c.info.encode("")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", c.what, err, c.want)
		}
		if err != nil && !isText(strings.ReplaceAll(err.Error(), "\n", " "), 1<<16) {
			t.Errorf("%s: the error cannot be printed: %q", c.what, err)
		}
	}
}

func TestWhatAPeerTellsIsRefusedUnlessItCanBePrinted(t *testing.T) {
	for _, c := range []struct{ what, name, data string }{
		{"nothing", "a", ``},
		{"no object", "a", `7`},
		{"more after the object", "a", `{} {}`},
		{"a name that moves the cursor", "\x1b[2J", `{}`},
		{"a tag that colours", "a", `{"t":["\u001b[31m"]}`},
		{"a text where a list belongs", "a", `{"t":"7"}`},
		{"a role with a control character of C1", "a", `{"r":"\u009b2J"}`},
		{"more than fits", "a", `{"x":"` + strings.Repeat("x", metaLimit) + `"}`},
	} {
		if info, err := decode(c.name, []byte(c.data)); err == nil {
			t.Errorf("%s: taken as %+v", c.what, info)
		}
	}
}

func TestAPeerOfALaterVersionIsSeen(t *testing.T) {
	got, err := decode("a", []byte(`{"r":"client","w":2,"later":{"x":[1]}}`))
	if want := (Info{Name: "a", Role: "client"}); err != nil || !cmp.Equal(want, got) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

// FuzzDecode checks that decoded data of a peer can be printed, keeps its bounds, and is the same
// after encoding and decoding it again.
func FuzzDecode(f *testing.F) {
	f.Add("vm14", []byte(`{"r":"broker","t":["a","b-c"],"s":"S1"}`))
	f.Add("vm14", []byte(`{"t":null,"x":{}}`))
	f.Add("\x1b[2J", []byte(`{}`))
	f.Add("a", []byte(`{"r":"\u202e"}`))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		info, err := decode(name, data)
		if err != nil {
			return
		}
		all := append([]string{info.Name, info.Role}, info.Tags...)
		if len(all) > 2+tagsLimit {
			t.Errorf("%d tags", len(info.Tags))
		}
		for _, s := range all {
			if !isText(s, metaLimit) {
				t.Errorf("%q cannot be printed", s)
			}
		}
		again, err := info.encode("")
		if err != nil {
			// Quoting may make what fitted too long.
			if len(data) < metaLimit/6 {
				t.Errorf("%+v cannot be sent on: %v", info, err)
			}
			return
		}
		back, err := decode(name, again)
		if err != nil || !cmp.Equal(info, back, cmpopts.EquateEmpty()) {
			t.Errorf("got %+v, %v, want %+v", back, err, info)
		}
	})
}

// isText reports whether a text has only printable characters.
func isText(s string, limit int) bool {
	return len(s) <= limit && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// message returns the beginning of an encrypted message of memberlist: the label, which is plain
// text in packets, and a length, which memberlist does not check before it decrypts.
func message(k *port.Key, length uint32) []byte {
	label := settings(k).Label
	head := append([]byte{labelMagic, byte(len(label))}, label...)
	const encrypted = 10
	return binary.BigEndian.AppendUint32(append(head, encrypted), length)
}

// heap returns the bytes of the heap in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestMemberlistHoldsNothingOfConnectionsWithoutTheKey(t *testing.T) {
	const conns, size = 48, 4 << 20
	k := key(t, 1)
	a, _ := agent(t, "a", setup{Key: k})
	before := heap()
	piece := make([]byte, 64<<10)
	var flood sync.WaitGroup
	var all []net.Conn
	for range conns {
		c := must.Have(net.Dial("tcp", a.Addr()))(t)
		all = append(all, c)
		flood.Go(func() {
			// As much as is taken, and not the last byte, which would end the message.
			_ = c.SetDeadline(time.Now().Add(soon))
			_, err := c.Write(message(k, size+1))
			for sent := 0; sent < size && err == nil; sent += len(piece) {
				_, err = c.Write(piece)
			}
			if err == nil {
				_, err = io.Copy(io.Discard, c)
			}
			var timeout net.Error
			if errors.As(err, &timeout) && timeout.Timeout() {
				t.Errorf("a connection was neither read nor ended: %v", err)
			}
		})
	}
	most := int64(0)
	done := make(chan struct{})
	go func() { flood.Wait(); close(done) }()
	for open := true; open; {
		most = max(most, heap()-before)
		select {
		case <-done:
			open = false
		case <-time.After(20 * time.Millisecond):
		}
	}
	// A goroutine and the buffers of a handshake each.
	if limit := int64(8 << 20); most > limit {
		t.Errorf("%d connections that know only the label held %d KiB, want at most %d", conns, most>>10, limit>>10)
	}
	for _, c := range all {
		_ = c.Close()
	}
	if kept := heap() - before; kept > 2<<20 {
		t.Errorf("%d KiB are kept of them", kept>>10)
	}
	b, _ := agent(t, "b", setup{Key: k, Join: []string{a.Addr()}})
	sees(t, a, "a alive", "b alive")
	sees(t, b, "a alive", "b alive")
}
