package gossip

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/theme"
)

// Info describes an agent: what stays as it is from its start to its end.
type Info struct {
	Name string   `json:"name"`           // unique in the network: up to 64 letters, digits, dots, dashes and underscores
	Role string   `json:"role,omitempty"` // "broker", "client" or ""
	Tags []string `json:"tags,omitempty"` // up to 16, of 32 such characters each
}

// Bounds in bytes of the data of a peer. All together must fit metaLimit.
const (
	nameLimit  = 64
	roleLimit  = 16
	tagLimit   = 32
	tagsLimit  = 16 // tags
	startLimit = 8

	metaLimit = 512 // memberlist's MetaMaxSize
)

// meta is what an agent sends of itself. Unknown fields of later versions of kt are ignored.
type meta struct {
	Role  string   `json:"r,omitempty"`
	Tags  []string `json:"t,omitempty"`
	Start string   `json:"s,omitempty"` // random, of one start of the agent
}

// encode returns the data to send with the name. Its errors name the flags.
func (i Info) encode(start string) ([]byte, error) {
	if err := i.Check(); err != nil {
		return nil, err
	}
	data, err := json.Marshal(meta{i.Role, i.Tags, start})
	if err != nil {
		return nil, fmt.Errorf("encode the description of this agent: %w", err)
	}
	if len(data) > metaLimit {
		return nil, fmt.Errorf("--tags: the description of this agent takes %d bytes, at most %d are allowed: give fewer or shorter tags", len(data), metaLimit)
	}
	return data, nil
}

// decode decodes and checks the data of a peer.
func decode(name string, data []byte) (Info, error) {
	if len(data) > metaLimit {
		return Info{}, fmt.Errorf("%d bytes of at most %d", len(data), metaLimit)
	}
	var m meta
	if err := json.Unmarshal(data, &m); err != nil {
		return Info{}, fmt.Errorf("decode the description of an agent: %w", err)
	}
	i := Info{name, m.Role, m.Tags}
	return i, i.Check()
}

// Check returns all problems of an info.
func (i Info) Check() error {
	var errs []error
	check := func(flag, word string, limit int) {
		if plan.CheckName(word) != nil || len(word) > limit {
			errs = append(errs, fmt.Errorf("--%s: %.64q: it must be 1 to %d letters, digits, dots, dashes and underscores, the first a letter or a digit", flag, word, limit))
		}
	}
	check("name", i.Name, nameLimit)
	if i.Role != "" {
		check("role", i.Role, roleLimit)
	}
	if len(i.Tags) > tagsLimit {
		errs = append(errs, fmt.Errorf("--tags: %d of at most %d tags", len(i.Tags), tagsLimit))
	}
	for _, t := range i.Tags {
		check("tags", t, tagLimit)
	}
	return errors.Join(errs...)
}

// The states of a member.
const (
	Alive = "alive"
	Gone  = "gone" // crashed or cut off
	Left  = "left" // sent a goodbye
)

// Member is an agent of the network.
type Member struct {
	Info
	Addr  string    `json:"address"`         // host:port, of both TCP and UDP
	State string    `json:"state"`           // Alive, Gone or Left
	Since time.Time `json:"-"`               // in this state, by this host's clock
	Rival string    `json:"rival,omitempty"` // address of another agent that presented this name of late

	start   string    // random, of one start of the agent
	rivaled time.Time // when the rival was last heard
}

const (
	keepGone     = 10 * time.Minute // a member that is away is listed: longer than a run of a few minutes
	goodbyeHolds = 30 * time.Second // a goodbye explains an absence, which all members notice within it
	maxMembers   = 1024             // bounds the memory that peers can take

	// rivalHolds is the time for which a rival is listed after it was last heard. It may be the earlier process.
	rivalHolds = 2 * time.Minute
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

// here notes a member that is new, back or started anew.
func (t *table) here(info Info, start, addr string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.goodbyes, info.Name)
	m := t.members[info.Name]
	if m == nil {
		m = &Member{}
		t.members[info.Name] = m
	}
	if m.isAway() || m.start != start { // it is new, back or started anew
		m.Rival = ""
	}
	m.Info, m.Addr, m.start = info, addr, start
	m.become(Alive, now)
}

// rival notes that an agent at another address presents the name of a member.
func (t *table) rival(name, addr string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m := t.members[name]; m != nil {
		m.Rival, m.rivaled = addr, now
	}
}

// goodbye notes a goodbye, and reports whether it explains an absence. One of an earlier start may be a replay.
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
	if at, ok := t.goodbyes[name]; ok && now.Sub(at) < goodbyeHolds {
		state = Left
	}
	if m := t.members[name]; m != nil {
		m.become(state, now)
	}
	return state
}

// list returns all members, sorted by name. It forgets those that have been away for longer than keepGone.
func (t *table) list(now time.Time) []Member {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.members, func(_ string, m *Member) bool {
		return m.isAway() && now.Sub(m.Since) > keepGone
	})
	maps.DeleteFunc(t.goodbyes, func(_ string, at time.Time) bool { return now.Sub(at) > goodbyeHolds })
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

// report logs a line.
func (g *Gossip) report(format string, args ...any) { g.log(fmt.Sprintf(format, args...)) }

// clean makes a peer's text safe for a terminal.
func clean(text string) string { return theme.Name(theme.Clean(strings.TrimSpace(text))) }
