package gossip

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/hashicorp/memberlist"

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
		must.Err(t, c.want, err, "%s", c.what)
		must.True(t, err == nil || isText(strings.ReplaceAll(err.Error(), "\n", " "), 1<<16), "%s: the error cannot be printed: %q", c.what, err)
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
		info, err := decode(c.name, []byte(c.data))
		must.True(t, err != nil, "%s: taken as %+v", c.what, info)
	}
}

func TestAPeerOfALaterVersionIsSeen(t *testing.T) {
	got, err := decode("a", []byte(`{"r":"client","w":2,"later":{"x":[1]}}`))
	want := (Info{Name: "a", Role: "client"})
	must.True(t, err == nil && cmp.Equal(want, got), "got %+v, %v, want %+v", got, err, want)
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
		must.True(t, len(all) <= 2+tagsLimit, "%d tags", len(info.Tags))
		for _, s := range all {
			must.True(t, isText(s, metaLimit), "%q cannot be printed", s)
		}
		again, err := info.encode("")
		if err != nil {
			// Quoting may make what fitted too long.
			must.True(t, len(data) >= metaLimit/6, "%+v cannot be sent on: %v", info, err)
			return
		}
		back, err := decode(name, again)
		must.True(t, err == nil && cmp.Equal(info, back, cmpopts.EquateEmpty()), "got %+v, %v, want %+v", back, err, info)
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
	limit := int64(8 << 20)
	must.True(t, most <= limit, "%d connections that know only the label held %d KiB, want at most %d", conns, most>>10, limit>>10)
	for _, c := range all {
		_ = c.Close()
	}
	kept := heap() - before
	must.True(t, kept <= 2<<20, "%d KiB are kept of them", kept>>10)
	b, _ := agent(t, "b", setup{Key: k, Join: []string{a.Addr()}})
	sees(t, a, "a alive", "b alive")
	sees(t, b, "a alive", "b alive")
}

func TestTheTableFollowsWhatIsHeard(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		what  string
		then  []func(*table, time.Time) // one a second
		after time.Duration
		want  string
	}{
		{"a member that is there", nil, 0, "a alive 0s"},
		{"one that says something", []func(*table, time.Time){away, told}, 0, "a alive 2s"},
		{"one that is gone", []func(*table, time.Time){away}, 0, "a gone 1s"},
		{"one that said goodbye", []func(*table, time.Time){bye, away}, 0, "a left 2s"},
		{"one whose goodbye was slower than the news", []func(*table, time.Time){away, bye}, 0, "a left 1s"},
		{"one that said goodbye and is still there", []func(*table, time.Time){bye}, 0, "a alive 0s"},
		{"one that crashed when somebody repeated what it said before its last start", []func(*table, time.Time){byeOfOld, away, byeOfOld}, 0, "a gone 2s"},
		{"one that left, came back and crashed", []func(*table, time.Time){bye, away, here, away}, 0, "a gone 4s"},
		{"one that has been gone for ten minutes", []func(*table, time.Time){away}, keepGone + time.Second, "a gone 1s"},
		{"one that has been gone for longer", []func(*table, time.Time){away}, keepGone + 2*time.Second, ""},
		{"one that has been there for longer", nil, 2 * keepGone, "a alive 0s"},
	} {
		tab, now := newTable(), start
		here(tab, now)
		for _, f := range c.then {
			now = now.Add(time.Second)
			f(tab, now)
		}
		got := ""
		for _, m := range tab.list(start.Add(c.after)) {
			got += fmt.Sprint(m.Name, " ", m.State, " ", m.Since.Sub(start))
		}
		must.Match(t, c.want, got, "%s", c.what)
	}
}

func here(t *table, now time.Time) { t.here(Info{Name: "a"}, "S1", "10.0.0.1:7946", now) }
func told(t *table, now time.Time) { t.here(Info{Name: "a"}, "S1", "10.0.0.1:7946", now) }
func away(t *table, now time.Time) { t.away("a", now) }
func bye(t *table, now time.Time)  { t.goodbye("a", "S1", now) }

func byeOfOld(t *table, now time.Time) { t.goodbye("a", "S0", now) }

func TestARivalIsListedUntilItHasBeenSilentForLong(t *testing.T) {
	tab, start := newTable(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	rival := func(after time.Duration) string { return tab.list(start.Add(after))[0].Rival }
	here(tab, start)
	tab.rival("a", "10.0.0.2:7946", start)
	tab.rival("unknown", "10.0.0.3:7946", start)
	must.Match(t, "10.0.0.2:7946", rival(rivalHolds), "the rival")
	must.Match(t, "", rival(rivalHolds+time.Second), "a rival that is silent is still")
	tab.rival("a", "10.0.0.2:7946", start)
	here(tab, start.Add(time.Second))
	must.Match(t, "10.0.0.2:7946", rival(2*time.Second), "after the member changed the rival")
	tab.here(Info{Name: "a"}, "S2", "10.0.0.1:7946", start.Add(2*time.Second))
	must.Match(t, "", rival(3*time.Second), "after the member was started anew the rival")
}

func TestTheTableTakesNoMoreThanItsBound(t *testing.T) {
	tab, now := newTable(), time.Now()
	for i := range maxMembers {
		tab.here(Info{Name: fmt.Sprint("m", i)}, "", "", now)
	}
	must.True(t, !tab.hasRoom("another") && tab.hasRoom("m7"), "the bound holds for who is new, and for nobody else")
}

// telling returns a Gossip without a network that says what it says to l.
func telling(l *must.Lines) *Gossip {
	return &Gossip{name: "a", table: newTable(), log: l.Add, often: port.Journal{Log: l.Add}}
}

func TestMemberlistsLogIsToldAsFarAsItConcernsAUser(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"[WARN] memberlist: Was able to connect to vm14 over TCP but UDP probes failed, network may be misconfigured", "vm14 answers over TCP and not over UDP"},
		{"[WARN] memberlist: Refuting a suspect message (from: \x1b[2Jvm14)", `?[2Jvm14 gets no answer from this agent`},
		{"[ERR] memberlist: Decrypt packet failed: No installed keys could decrypt the message from=10.0.0.9:4000", "10.0.0.9:4000 sends what this agent cannot read"},
		{`[ERR] memberlist: discarding packet with unacceptable label "": from=10.0.0.9:4000`, "10.0.0.9:4000 sends what this agent cannot read"},
		{"[ERR] memberlist: Error accepting TCP connection: too many open files", "too many open files"},
		{"[DEBUG] memberlist: Failed UDP ping: vm14 (timeout reached)", ""},
		{"[ERR] memberlist: Failed fallback TCP ping: EOF", ""},
		{"[ERR] memberlist: Conflicting address for vm14.", ""},
		{"[WARN] memberlist: Was able to connect to \"vm14\" over TCP but UDP probes failed", `"vm14" answers`},
		{"", ""},
	} {
		l := new(must.Lines)
		g := telling(l)
		g.hear(c.line + "\n")
		got := strings.Join(l.With(""), "|")
		must.True(t, (c.want == "") == (got == "") && strings.Contains(got, c.want), "%q is told as %q, want %q", c.line, got, c.want)
	}
}

// On a busy host the news that a member is away can be there before the member's own goodbye.
func TestAGoodbyeAfterTheNewsCorrectsWhatWasSaid(t *testing.T) {
	l := new(must.Lines)
	g := telling(l)
	d := delegate{g}
	meta := must.Have(Info{Name: "c", Role: "client"}.encode("S1"))(t)
	n := &memberlist.Node{Name: "c", Addr: net.IPv4(127, 0, 0, 1).To4(), Port: 9464, Meta: meta}
	d.NotifyJoin(n)
	d.NotifyLeave(n)
	for range 2 { // a goodbye is sent more than once
		d.NotifyMsg([]byte(goodbyePrefix + "c S1"))
	}
	want := []string{"c is there, at 127.0.0.1:9464", "c at 127.0.0.1:9464 is gone: it no longer answers", "c has left"}
	must.Match(t, want, l.With(""), "said")
}

// FuzzHear checks that the lines for the operator can be printed, for every line of memberlist.
func FuzzHear(f *testing.F) {
	f.Add("[WARN] memberlist: Refuting a suspect message (from: \x1b[2J)")
	f.Add("[ERR] memberlist: discarding packet with unacceptable label \"\x07\": from=[::1]:4000")
	f.Add("[INFO] memberlist: Suspect vm14 has failed, no acks received")
	f.Fuzz(func(t *testing.T, line string) {
		l := new(must.Lines)
		g := telling(l)
		g.hear(line)
		for _, text := range l.With("") {
			must.True(t, isText(text, 1<<10), "%q is told as %q", line, text)
		}
	})
}

func TestAnAgentOnAllInterfacesTellsAnAddressThatOthersReach(t *testing.T) {
	ip, port, err := advertised(t.Context(), "", netip.IPv4Unspecified(), []string{"127.0.0.1:7946", "no such host"})
	switch {
	case err != nil && !strings.Contains(err.Error(), "--advertise"):
		t.Errorf("%v, want one that names --advertise", err)
	case err == nil && (ip.IsLoopback() || ip.IsUnspecified() || port != 0):
		t.Errorf("advertised as %s port %d", ip, port)
	}
}

func TestAnAgentIsNotStartedAndTheFlagIsNamed(t *testing.T) {
	taken, _ := agent(t, "taken", setup{})
	for _, c := range []struct {
		what string
		o    setup
		want string
	}{
		{"off loopback without a key", setup{Bind: ":0", Info: Info{Name: "a"}}, "--key-file"},
		{"telling an address off loopback without a key", setup{Bind: "127.0.0.1:0", Advertise: "10.0.0.1:7946", Info: Info{Name: "a"}}, "--key-file"},
		{"telling an address that is none", setup{Bind: "127.0.0.1:0", Advertise: "0.0.0.0:7946", Info: Info{Name: "a"}}, "--advertise"},
		{"at a host that is not there", setup{Bind: "no such host:0", Info: Info{Name: "a"}}, "--bind no such host:0: its name is not found: no such host"},
		{"at a port that is none", setup{Bind: "127.0.0.1:x", Info: Info{Name: "a"}}, "--bind"},
		{"at a port that is taken", setup{Bind: taken.Addr(), Info: Info{Name: "a"}}, "listen on " + taken.Addr() + ": address already in use"},
		{"at an address of another machine", setup{Bind: "192.0.2.1:7946", Key: key(t, 1), Info: Info{Name: "a"}}, "listen on 192.0.2.1:7946: cannot assign requested address"},
		{"joining what is no address", setup{Bind: "127.0.0.1:0", Join: []string{"a:b:c"}, Info: Info{Name: "a"}}, "--join"},
		{"without a name", setup{Bind: "127.0.0.1:0"}, "--name"},
	} {
		g, err := c.o.start(nil)
		if err == nil {
			err = errors.Join(errors.New("it started"), g.Close())
		}
		must.True(t, strings.Contains(err.Error(), c.want), "%s: %v, want an error with %q", c.what, err, c.want)
		taken := strings.HasSuffix(c.want, "already in use")
		must.True(t, taken == errors.Is(err, syscall.EADDRINUSE), "%s: %v: it is an error of a port that is taken: %v", c.what, err, !taken)
		given := errors.As(err, new(*port.OptionError))
		must.True(t, given != strings.HasPrefix(c.want, "listen on"), "%s: %v: it is an error of what was given: %v", c.what, err, given)
	}
}

// joinError is an error with a text as memberlist formats it.
type joinError string

func (e joinError) Error() string { return string(e) }

func TestWhyNobodyIsJoinedIsToldOnceAndInFewWords(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, "no answer"},
		{joinError("1 error occurred:\n\t* failed to join 10.0.0.1:7946: dial tcp 10.0.0.1:7946: connect: connection refused\n\n"), "no answer (connection refused)"},
		{joinError("1 error occurred:\n\t* failed to join 10.0.0.1:7946: read tcp 10.0.0.2:4000->10.0.0.1:7946: read: connection reset by peer\n\n"), "it closed the connection: it has too many, or is overloaded"},
		{joinError("1 error occurred:\n\t* failed to join 10.0.0.1:7946: it has another key, or is no kt agent\n\n"), "it has another key, or is no kt agent"},
		{joinError("1 error occurred:\n\t* failed to join 10.0.0.1:7946: it speaks version 3 of kt's protocol, this kt version 2: use the same kt on all hosts\n\n"), "it speaks version 3 of kt's protocol, this kt version 2: use the same kt on all hosts"},
		{errors.New("refused"), "no answer (refused)"},
	} {
		must.Match(t, c.want, reason(c.err).Error(), "%v is told as", c.err)
	}
	g := new(Gossip)
	must.Match(t, "its name is not found: no such host", fmt.Sprint(must.Fail(g.join(t.Context(), "no such host:7946"))), "a name that nobody has")
}

func TestAnAgentKnowsItsOwnAddress(t *testing.T) {
	for _, c := range []struct {
		bound, addr, asked string
		own                bool
	}{
		{"0.0.0.0:7946", "10.0.0.1:7946", "10.0.0.1:7946", true},
		{"0.0.0.0:7946", "10.0.0.1:7946", "127.0.1.1:7946", true},
		{"0.0.0.0:7946", "10.0.0.1:7946", "127.0.0.1:7947", false},
		{"0.0.0.0:7946", "10.0.0.1:7946", "10.0.0.2:7946", false},
		{"10.0.0.1:7946", "10.0.0.1:7946", "127.0.0.1:7946", false},
		{"10.0.0.1:7946", "192.0.2.1:7000", "10.0.0.1:7946", true},
		{"[::]:7946", "[fd00::1]:7946", "[::1]:7946", true},
	} {
		g := &Gossip{bound: netip.MustParseAddrPort(c.bound), addr: netip.MustParseAddrPort(c.addr)}
		must.Match(t, c.own, g.isOwn(c.asked), "bound to %s, advertised as %s: %s is its own: %v", c.bound, c.addr, c.asked, !c.own)
	}
}

func TestAgentsOnAllInterfacesFindEachOther(t *testing.T) {
	t.Parallel()
	a, _ := agent(t, "a", setup{Bind: ":0", Advertise: "127.0.0.1:0", Key: key(t, 1)})
	b, _ := agent(t, "b", setup{Bind: ":0", Advertise: "127.0.0.1:0", Key: key(t, 1), Join: []string{a.addr.String()}})
	sees(t, a, "a alive", "b alive")
	sees(t, b, "a alive", "b alive")
	must.True(t, !slices.Contains([]string{a.Addr(), b.Addr()}, a.addr.String()), "bound to %s, advertised as %s", a.Addr(), a.addr)
}
