package gossip

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
)

// The states of a member.
const (
	Alive = "alive"
	Gone  = "gone" // crashed or cut off
	Left  = "left" // sent a goodbye
)

// Member is an agent of the network.
type Member struct {
	Info
	Addr  string    // host:port, of both TCP and UDP
	State string    // Alive, Gone or Left
	Since time.Time // in this state, by this host's clock
	Rival string    // address of another agent that presented this name of late; "": none did

	start   string    // random, of one start of the agent
	rivaled time.Time // when the rival was last heard
}

const (
	// keepGone is the time for which a member that is away is listed, so that after a run of a few
	// minutes its lost members are still visible.
	keepGone = 10 * time.Minute

	// goodbyeHolds is the time for which a goodbye explains the absence of its sender. All members
	// notice the absence within it, and a restart followed by a crash takes longer.
	goodbyeHolds = 30 * time.Second

	// rivalHolds is the time for which a rival is listed after it was last heard, and for which an agent
	// keeps announcing itself that has one. A rival exchanges tables with the members that it joins every
	// few seconds, and with others once a minute. It may be the earlier process of the same agent.
	rivalHolds = 2 * time.Minute

	// maxMembers bounds the memory that peers can take, far beyond any real network of load
	// generators and brokers.
	maxMembers = 1024
)

// table holds the members. Its methods take the time, so it needs no clock.
type table struct {
	mu       sync.Mutex
	members  map[string]*Member   // by name
	goodbyes map[string]time.Time // times of goodbyes by name
}

func newTable() *table {
	return &table{members: make(map[string]*Member), goodbyes: make(map[string]time.Time)}
}

// hasRoom reports whether an agent of this name may be added.
func (t *table) hasRoom(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.members[name] != nil || len(t.members) < maxMembers
}

// here adds a member that is new or back.
func (t *table) here(info Info, start, addr string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.goodbyes, info.Name)
	t.members[info.Name] = &Member{Info: info, Addr: addr, State: Alive, Since: now, start: start}
}

// update notes the info of a member that was started anew. That is a sign of life.
func (t *table) update(info Info, start, addr string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m := t.members[info.Name]; m != nil {
		m.Info, m.Addr, m.start = info, addr, start
		m.become(Alive, now)
	}
}

// rival notes that an agent at another address presents the name of a member.
func (t *table) rival(name, addr string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m := t.members[name]; m != nil {
		m.Rival, m.rivaled = addr, now
	}
}

// goodbye notes a goodbye, which may arrive before or after the news that the member is away. It
// ignores one of an earlier start of the member, which may be a replay. It reports whether it
// explains the absence of a member that was taken for Gone.
func (t *table) goodbye(name, start string, now time.Time) (explains bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.members[name]
	if m == nil || m.start != start {
		return false
	}
	t.goodbyes[name] = now
	if m.State != Gone || now.Sub(m.Since) >= goodbyeHolds {
		return false
	}
	m.State = Left
	return true
}

// away notes that a member is away, and returns its state: Left after a goodbye, else Gone.
func (t *table) away(name string, now time.Time) (state string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	state = Gone
	if said, ok := t.goodbyes[name]; ok && now.Sub(said) < goodbyeHolds {
		state = Left
	}
	if m := t.members[name]; m != nil {
		m.become(state, now)
	}
	return state
}

// list returns all members, sorted by name. It forgets those that have been away for
// longer than keepGone.
func (t *table) list(now time.Time) []Member {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.members, func(_ string, m *Member) bool {
		return m.isAway() && now.Sub(m.Since) > keepGone
	})
	maps.DeleteFunc(t.goodbyes, func(_ string, said time.Time) bool { return now.Sub(said) > goodbyeHolds })
	all := make([]Member, 0, len(t.members)+1)
	for _, m := range t.members {
		if now.Sub(m.rivaled) > rivalHolds {
			m.Rival = ""
		}
		all = append(all, *m)
	}
	slices.SortFunc(all, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// become sets the state. Since changes only with the state.
func (m *Member) become(state string, now time.Time) {
	if m.State != state {
		m.State, m.Since = state, now
	}
}

// isAway reports whether the member is gone or has left.
func (m *Member) isAway() bool { return m.State == Gone || m.State == Left }

// address returns the address that a node listens on.
func address(n *memberlist.Node) string {
	return join(n.Addr.String(), int(n.Port))
}
