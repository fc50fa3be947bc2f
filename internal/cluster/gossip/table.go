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
	Alive   = "alive"
	Suspect = "suspect" // did not answer this agent; the others are asked, which takes seconds
	Gone    = "gone"    // went away without a word: crashed, or cut off
	Left    = "left"    // said that it goes
)

// Member is an agent, as another sees it.
type Member struct {
	Info
	Addr  string    // host:port, of both TCP and UDP
	State string    // Alive, Suspect, Gone or Left
	Since time.Time // in this state, by this host's clock

	start string // which of its starts it is of
}

const (
	// keepGone is how long a member that is away is listed. Somebody who looks after a
	// run of a few minutes sees who was lost in it.
	keepGone = 10 * time.Minute

	// goodbyeHolds is for how long a goodbye explains why its sender is away: longer
	// than it takes all to notice, shorter than a restart and a crash.
	goodbyeHolds = 30 * time.Second

	// suspectHolds is for how long silence is a suspicion. Memberlist decides within 24 s,
	// of 64 agents 44; if it says nothing, the member had answered somebody else, and
	// might not be asked again by this agent for a minute.
	suspectHolds = 45 * time.Second

	// maxMembers bounds what peers can make an agent remember: far beyond any real
	// network of load generators and brokers.
	maxMembers = 1024
)

// table is who is known, this agent left out. Its methods take the time, so it has no
// clock.
type table struct {
	mu       sync.Mutex
	members  map[string]*Member   // by name
	goodbyes map[string]time.Time // by name: when it said so
}

func newTable() *table {
	return &table{members: make(map[string]*Member), goodbyes: make(map[string]time.Time)}
}

// room reports whether an agent of this name may be remembered.
func (t *table) room(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.members[name] != nil || len(t.members) < maxMembers
}

// here notes that a member is there, newly or again.
func (t *table) here(info Info, start, addr string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.goodbyes, info.Name)
	t.members[info.Name] = &Member{info, addr, Alive, now, start}
}

// told notes what a member now says of itself. That it says something is a sign of life.
func (t *table) told(info Info, start, addr string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m := t.members[info.Name]; m != nil {
		m.Info, m.Addr, m.start = info, addr, start
		m.become(Alive, now)
	}
}

// answers notes a sign of life. It says nothing of who is away: that a member is back is
// for here to say.
func (t *table) answers(name string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m := t.members[name]; m != nil && m.State == Suspect {
		m.become(Alive, now)
	}
}

// silent notes that a member did not answer.
func (t *table) silent(name string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m := t.members[name]; m != nil && m.State == Alive {
		m.become(Suspect, now)
	}
}

// goodbye notes that a member says it goes. The news that it is away may have been
// faster, or come later. One that it said before it was started again explains nothing:
// somebody may have recorded it.
func (t *table) goodbye(name, start string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.members[name]
	if m == nil || m.start != start {
		return
	}
	t.goodbyes[name] = now
	if m.State == Gone && now.Sub(m.Since) < goodbyeHolds {
		m.State = Left
	}
}

// away notes that a member is no longer there, and returns what became of it.
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

// list returns copies of all members, sorted by name. Those that have been away for long
// are forgotten.
func (t *table) list(now time.Time) []Member {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.members, func(_ string, m *Member) bool {
		return m.isAway() && now.Sub(m.Since) > keepGone
	})
	maps.DeleteFunc(t.goodbyes, func(_ string, said time.Time) bool { return now.Sub(said) > goodbyeHolds })
	all := make([]Member, 0, len(t.members)+1)
	for _, m := range t.members {
		if m.State == Suspect && now.Sub(m.Since) > suspectHolds {
			m.become(Alive, now)
		}
		c := *m
		c.Info = c.clone()
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// become changes the state, and the time only if it is another.
func (m *Member) become(state string, now time.Time) {
	if m.State != state {
		m.State, m.Since = state, now
	}
}

// isAway reports whether nobody expects an answer of it.
func (m *Member) isAway() bool { return m.State == Gone || m.State == Left }

// address returns where a node listens.
func address(n *memberlist.Node) string {
	return join(n.Addr.String(), int(n.Port))
}
