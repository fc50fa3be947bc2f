package cluster

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Results fetches all run files of a run, by its name or epoch, from all peers into dir. It
// returns the paths of the files and a problem for each peer or file that failed. A run that is
// still going on is a problem too, because its files are incomplete. If none of the peers that
// answer has a file, the last problem is an UnknownRunError.
func (c *Client) Results(ctx context.Context, peers []Peer, run, dir string) (files []string, problems []error) {
	to, err := newCopies(dir, c.free)
	if err != nil {
		return nil, []error{err}
	}
	defer to.close(false)
	going := &GoingError{run: run}
	var lacking []Peer // they answered, and have no file of it
	answered := 0      // peers
	for i, f := range c.fetchAll(ctx, peers, run, nil, maxRunFile, to) {
		if f.answered {
			answered++
		}
		if f.answered && len(f.files)+len(f.problems) == 0 {
			lacking = append(lacking, peers[i])
		}
		for _, g := range f.files {
			files = append(files, g.path())
			if g.entry.AtWork {
				going.hosts, going.files = append(going.hosts, g.entry.Host), append(going.files, g.path())
			}
		}
		for _, err := range f.problems {
			problems = append(problems, &PeerError{Peer: cmp.Or(peers[i].Name, peers[i].Addr), Err: err})
		}
	}
	if len(going.files) > 0 {
		problems = append(problems, going)
	}
	if answered > 0 && len(lacking) == answered {
		problems = append(problems, &UnknownRunError{Run: run, Known: c.Runs(ctx, lacking), Silent: answered < len(peers)})
	}
	slices.Sort(files)
	return slices.Compact(files), problems
}

// GoingError is the problem of a run that is still going on.
type GoingError struct {
	run   string
	hosts []string
	files []string // copies of files that processes were writing
}

func (e *GoingError) Error() string {
	slices.Sort(e.hosts)
	return fmt.Sprintf("run %s is still going on %s: collect again when it is over", e.run, strings.Join(slices.Compact(slices.Clone(e.hosts)), ", "))
}

// IsCopy reports whether a path is that of the copy of a file that a process was writing.
func (e *GoingError) IsCopy(path string) bool { return e != nil && slices.Contains(e.files, path) }

// Runs returns the names of the runs that the peers have files of.
func (c *Client) Runs(ctx context.Context, peers []Peer) []string {
	var names []string
	for _, p := range peers {
		ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
		var found runsFound
		_ = c.call(ctx, http.MethodGet, p.Addr, "/v1/runs", nil, &found) // a peer that fails now adds no names
		cancel()
		names = append(names, found.Runs...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
