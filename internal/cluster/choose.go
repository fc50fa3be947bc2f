package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/suggest"
)

// Choose sets Load and Watch from the names, tags and roles of on and watch. If watch is empty,
// Watch gets all hosts of brokers; if it is "none", Watch stays empty.
func (h *Hosts) Choose(on, watch []string, found []Peer) (err error) {
	if h.Load, err = choose("on", on, found); err != nil || slices.Equal(watch, []string{"none"}) {
		return err
	}
	h.Watch, err = choose("watch", watch, found)
	for _, p := range found {
		switch {
		case len(watch) > 0 || p.Role != RoleBroker:
		case p.Err != nil:
			h.Client.Log(fmt.Sprintf("%s is not watched: %v", p.Name, p.Err))
		default:
			h.Watch = append(h.Watch, p)
		}
	}
	h.Watch = slices.DeleteFunc(h.Watch, func(p Peer) bool { return isAmong(h.Load, &p) })
	return err
}

// choose returns the peers that match the words. The word all leaves out hosts of brokers,
// because a load there would disturb the measurement.
func choose(flag string, words []string, among []Peer) ([]Peer, error) {
	var chosen []Peer
	var errs []error
	for _, word := range words {
		matched := false
		for _, p := range among {
			if !p.matches(word) {
				continue
			}
			if matched = true; !isAmong(chosen, &p) {
				chosen = append(chosen, p)
			}
		}
		if !matched {
			errs = append(errs, fmt.Errorf("--%s %s: no agent has that name, tag or role%s", flag, word, explainNoMatch(word, among)))
		}
	}
	for _, p := range chosen {
		if p.Err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", flag, p.Err)) // the error names the peer
		}
	}
	slices.SortFunc(chosen, func(a, b Peer) int { return strings.Compare(a.Name, b.Name) })
	return chosen, errors.Join(errs...)
}

// isAmong reports whether an agent is among others. Two agents of one name are different ones,
// so that check can refuse both.
func isAmong(peers []Peer, p *Peer) bool {
	return slices.ContainsFunc(peers, func(o Peer) bool { return o.Name == p.Name && o.Addr == p.Addr })
}

// matches reports whether a word of --on or --watch stands for the peer.
func (p *Peer) matches(word string) bool {
	switch word { // whatever an agent calls itself
	case "all":
		return p.Role != RoleBroker
	case RoleClient + "s":
		return p.Role == RoleClient
	case RoleBroker + "s":
		return p.Role == RoleBroker
	}
	return word == p.Name || slices.Contains(p.Tags, word)
}

// The roles of hosts. As words of --on and --watch their plurals stand for all hosts of a role.
const (
	RoleClient = "client"
	RoleBroker = "broker"
)

// explainNoMatch returns the rest of the error for a word that matches no agent: a similar word,
// or all agents.
func explainNoMatch(word string, among []Peer) string {
	if len(among) == 0 {
		return ": there is no agent at all"
	}
	var words, there []string
	for _, p := range among {
		words = append(append(words, p.Name), p.Tags...)
		if p.Role != "" {
			words = append(words, p.Role+"s")
		}
		there = append(there, p.describe())
	}
	slices.Sort(words)
	text := "; there are " + strings.Join(there, ", ")
	switch near := suggest.Nearest(word, slices.Compact(words)); {
	case word == "all":
		return "; all leaves out the hosts of brokers, which have to be named" + text
	case near != "" && word != RoleClient+"s" && word != RoleBroker+"s":
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return text
}

// describe returns the name of an agent with its role and tags.
func (p *Peer) describe() string {
	what := p.Role
	if what == "" {
		what = "does not answer"
	}
	if len(p.Tags) > 0 {
		what += "; tags " + strings.Join(p.Tags, " ")
	}
	return fmt.Sprintf("%s (%s)", p.Name, what)
}
