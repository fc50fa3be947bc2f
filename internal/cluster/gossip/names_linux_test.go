package gossip

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/kt-bench/kt/internal/must"
)

// names are the addresses of names that end with .test, as a name server has them that tests change.
var names struct {
	sync.Mutex
	addrs   map[string][]string
	lookups map[string]int
}

// TestMain makes that name server the one of all lookups of this process.
func TestMain(m *testing.M) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	server := &dns.Server{PacketConn: conn, Handler: dns.HandlerFunc(answer)}
	go func() { _ = server.ActivateAndServe() }() // it ends with the process
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
	os.Exit(m.Run())
}

// answer answers a question for IPv4 addresses.
func answer(w dns.ResponseWriter, question *dns.Msg) {
	m := new(dns.Msg).SetReply(question)
	q := question.Question[0]
	name := strings.ToLower(strings.TrimSuffix(q.Name, "."))
	names.Lock()
	addrs := names.addrs[name]
	if q.Qtype == dns.TypeA && names.lookups != nil {
		names.lookups[name]++
	}
	names.Unlock()
	if len(addrs) == 0 {
		m.Rcode = dns.RcodeNameError
	}
	for _, addr := range addrs {
		if q.Qtype == dns.TypeA {
			m.Answer = append(m.Answer, &dns.A{Hdr: dns.RR_Header{Name: q.Name, Rrtype: dns.TypeA, Class: dns.ClassINET}, A: net.ParseIP(addr)})
		}
	}
	_ = w.WriteMsg(m) // a resolver without an answer asks again
}

// name gives a name its addresses.
func name(name string, addrs ...string) {
	names.Lock()
	defer names.Unlock()
	if names.addrs == nil {
		names.addrs, names.lookups = make(map[string][]string), make(map[string]int)
	}
	names.addrs[name] = addrs
}

// lookups returns how often a name was looked up.
func lookups(name string) int {
	names.Lock()
	defer names.Unlock()
	return names.lookups[name]
}

// pod starts an agent at 127.1.0.n that joins the others by a name, which has the given port.
func pod(t *testing.T, n int, name, port string) (*node, *must.Lines) {
	t.Helper()
	return agent(t, fmt.Sprint("pod-", n), setup{
		Bind: fmt.Sprintf("127.1.0.%d:%s", n, port), Join: []string{name + ":" + port}, Key: key(t, 1), tune: hasty,
	})
}

// portOf returns a port that is free at 127.1.0.1, and likely at its neighbours.
func portOf(t *testing.T) string {
	t.Helper()
	l := must.Have(net.Listen("tcp", "127.1.0.1:0"))(t)
	defer func() { _ = l.Close() }()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

func TestAgentsOfOneNameFindEachOtherThoughItIsTheirOwnToo(t *testing.T) {
	t.Parallel()
	port := portOf(t)
	name("own.test", "127.1.0.1", "127.1.0.2", "127.1.0.3")
	var pods []*node
	for n := range 3 {
		g, _ := pod(t, n+1, "own.test", port)
		pods = append(pods, g)
	}
	for _, g := range pods {
		sees(t, g, "pod-1 alive", "pod-2 alive", "pod-3 alive")
	}
}

func TestAddressesOfANameThatDoNotAnswerHideNoOther(t *testing.T) {
	t.Parallel()
	port := portOf(t)
	name("old.test", "127.1.0.200", "127.1.0.201", "127.1.0.11", "127.1.0.202")
	a, _ := pod(t, 11, "old.test", port)
	b, log := pod(t, 12, "old.test", port) // its own address is not of the name
	sees(t, a, "pod-11 alive", "pod-12 alive")
	sees(t, b, "pod-11 alive", "pod-12 alive")
	lines := log.With("no answer")
	must.True(t, len(lines) == 0, "somebody answered, and %q is said", lines)
}

func TestPodsThatComeAndGoAreFoundByTheNextLookup(t *testing.T) {
	t.Parallel()
	port := portOf(t)
	// Each starts when the name has its own address only, as a cache has it.
	name("pods.test", "127.1.0.21")
	a, _ := pod(t, 21, "pods.test", port)
	must.Eventually(t, "a looks the name up", func() bool { return lookups("pods.test") > 0 })
	name("pods.test", "127.1.0.22")
	b, _ := pod(t, 22, "pods.test", port)
	seen := lookups("pods.test")
	must.Eventually(t, "b looks the name up", func() bool { return lookups("pods.test") > seen })
	name("pods.test", "127.1.0.21", "127.1.0.22")
	sees(t, a, "pod-21 alive", "pod-22 alive")
	sees(t, b, "pod-21 alive", "pod-22 alive")

	// Both pods are replaced, one after the other: the last of the old ones knows none of the new.
	name("pods.test", "127.1.0.22", "127.1.0.23")
	must.Do(t, a.Close())
	c, _ := pod(t, 23, "pods.test", port)
	must.Eventually(t, "the new pod sees the old one", func() bool { return slices.Contains(states(c), "pod-22 alive") })
	name("pods.test", "127.1.0.23", "127.1.0.24")
	must.Do(t, b.Close())
	d, _ := pod(t, 24, "pods.test", port)
	must.Eventually(t, "the new pods see each other", func() bool {
		return slices.Contains(states(c), "pod-24 alive") && slices.Contains(states(d), "pod-23 alive")
	})
}

func TestAMissingAddressIsNeitherOwnNorALiveMembers(t *testing.T) {
	g := &Gossip{bound: netip.MustParseAddrPort("0.0.0.0:7946"), addr: netip.MustParseAddrPort("10.0.0.1:7946"), table: newTable()}
	now := time.Now()
	g.table.here(Info{Name: "b"}, "S1", "10.0.0.2:7946", now)
	g.table.here(Info{Name: "c"}, "S1", "10.0.0.3:7946", now)
	g.table.away("c", now)
	all := []string{"10.0.0.1:7946", "10.0.0.2:7946", "10.0.0.3:7946", "10.0.0.4:7946"}
	must.Match(t, []string{"10.0.0.3:7946", "10.0.0.4:7946"}, g.missing(all), "are missing")
	g.name = "a"
	g.table.here(Info{Name: "a"}, "S1", "10.0.0.1:7946", now)
	g.table.rival("a", "10.0.0.9:7946", now)
	must.Match(t, all[1:], g.missing(all), "hosts that are missing while its name is contested")
}
