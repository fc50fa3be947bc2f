package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/cluster"
	"github.com/kt-bench/kt/internal/cluster/wire"
	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/suggest"
)

// client talks to agents.
func (e *Env) client(a *config.Agents) (*cluster.Client, error) {
	key, err := readKey(a.KeyFile)
	if err != nil {
		return nil, err
	}
	return &cluster.Client{
		Key: key, Version: buildVersion().String(), Now: e.Now,
		Log: func(text string) { e.say("%s", text) },
	}, nil
}

// readKey is nil when no file is named: agents on this host may need none.
func readKey(path string) (*wire.Key, error) {
	if path == "" {
		return nil, nil
	}
	f, err := input.Open(path)
	if err != nil {
		return nil, usageError(fmt.Errorf("--key-file: %s: %w", path, err))
	}
	defer func() { _ = f.Close() }() // it was only read
	key, err := wire.ReadKey(f)
	if err != nil {
		return nil, usageError(fmt.Errorf("--key-file: %s: %w", path, err))
	}
	return &key, nil
}

// peers asks the agents that are meant who they are.
func peers(ctx context.Context, c *cluster.Client, a *config.Agents) ([]cluster.Peer, error) {
	if len(a.Peers) > 0 {
		return c.Peers(ctx, a.Peers, false)
	}
	return c.Peers(ctx, a.Join, true)
}

// choose picks the peers that names, tags or "all" mean. all leaves out hosts of
// brokers: a load there would disturb what it measures.
func choose(flag string, words []string, among []cluster.Peer) ([]cluster.Peer, error) {
	var chosen []cluster.Peer
	var errs []error
	for _, word := range words {
		found := slices.Collect(func(yield func(cluster.Peer) bool) {
			for _, p := range among {
				if meant(word, &p) && !yield(p) {
					return
				}
			}
		})
		if len(found) == 0 {
			errs = append(errs, fmt.Errorf("--%s %s: no agent has that name, tag or role%s", flag, word, known(word, among)))
		}
		for _, p := range found {
			if !isAmong(chosen, &p) {
				chosen = append(chosen, p)
			}
		}
	}
	for _, p := range chosen {
		if p.Err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", flag, p.Err)) // which names it
		}
	}
	slices.SortFunc(chosen, func(a, b cluster.Peer) int { return strings.Compare(a.Name, b.Name) })
	return chosen, errors.Join(errs...)
}

// isAmong reports whether an agent is among others. Two of one name are two: which of them is
// meant, nobody knows.
func isAmong(peers []cluster.Peer, p *cluster.Peer) bool {
	return slices.ContainsFunc(peers, func(o cluster.Peer) bool { return o.Name == p.Name && o.Addr == p.Addr })
}

func meant(word string, p *cluster.Peer) bool {
	return word == p.Name || slices.Contains(p.Tags, word) || word == "all" && p.Role != roleBroker ||
		word == roleClient+"s" && p.Role == roleClient || word == roleBroker+"s" && p.Role == roleBroker
}

// The roles of hosts. Their plurals mean all hosts that have them.
const (
	roleClient = "client"
	roleBroker = "broker"
)

// known tells which agents there are, and which of their names, tags and roles is near.
func known(word string, among []cluster.Peer) string {
	if len(among) == 0 {
		return ": there is no agent at all"
	}
	var words, there []string
	for _, p := range among {
		words = append(append(words, p.Name), p.Tags...)
		if p.Role != "" {
			words = append(words, p.Role+"s")
		}
		there = append(there, described(&p))
	}
	slices.Sort(words)
	text := "; there are " + strings.Join(there, ", ")
	switch near := suggest.Nearest(word, slices.Compact(words)); {
	case word == "all":
		return "; all leaves out the hosts of brokers, which have to be named" + text
	case near != "" && word != roleClient+"s" && word != roleBroker+"s":
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return text
}

// described returns an agent with its role and tags.
func described(p *cluster.Peer) string {
	what := p.Role
	if what == "" {
		what = "does not answer"
	}
	if len(p.Tags) > 0 {
		what += "; tags " + strings.Join(p.Tags, " ")
	}
	return fmt.Sprintf("%s (%s)", p.Name, what)
}
