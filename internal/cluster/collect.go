package cluster

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// UnknownRunError is the error of a run of which no agent that answers has files.
type UnknownRunError struct {
	Run    string
	Known  []string // the names of the runs that the agents have files of, sorted
	Silent bool     // some agents did not answer
}

func (e *UnknownRunError) Error() string {
	if e.Silent {
		return "no agent that answers has run files of run " + e.Run
	}
	return "no agent has run files of run " + e.Run
}

// PeerError is the error of a peer whose files could not all be fetched.
type PeerError struct {
	Peer string // its name, or its address
	Err  error
}

func (e *PeerError) Error() string { return e.Peer + ": " + e.Err.Error() }

func (e *PeerError) Unwrap() error { return e.Err }

// Results fetches all run files of a run, by its name or epoch, from all peers into dir. It
// returns the paths of the files and a problem for each peer or file that failed. A run that is
// still going on is a problem too, because its files are incomplete. If none of the peers that
// answer has a file, the last problem is an UnknownRunError.
func (c *Client) Results(ctx context.Context, peers []Peer, run, dir string) (files []string, problems []error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, []error{fmt.Errorf("open the folder for run files: %w", err)}
	}
	defer func() { _ = root.Close() }() // only a folder
	quota, err := newQuota(dir, c.free)
	if err != nil {
		return nil, []error{err}
	}
	var going []string // hosts
	var lacking []Peer // they answered, and have no file of it
	answered := 0      // peers
	for i, f := range c.fetchAll(ctx, peers, wanted{run: run, most: maxRunFile, quota: quota}, root) {
		if f.answered {
			answered++
		}
		if f.answered && len(f.files)+len(f.problems) == 0 {
			lacking = append(lacking, peers[i])
		}
		for _, g := range f.files {
			files = append(files, filepath.Join(dir, g.name))
			if g.entry.AtWork {
				going = append(going, g.entry.Host)
			}
		}
		for _, err := range f.problems {
			problems = append(problems, &PeerError{Peer: cmp.Or(peers[i].Name, peers[i].Addr), Err: err})
		}
	}
	slices.Sort(files)
	files = slices.Compact(files)
	if len(going) > 0 {
		slices.Sort(going)
		problems = append(problems, fmt.Errorf("run %s is still going on %s: collect again when it is over", run, strings.Join(slices.Compact(going), ", ")))
	}
	if answered > 0 && len(lacking) == answered {
		problems = append(problems, &UnknownRunError{Run: run, Known: c.Runs(ctx, lacking), Silent: answered < len(peers)})
	}
	return files, problems
}

// Runs returns the names of the runs that the peers have files of.
func (c *Client) Runs(ctx context.Context, peers []Peer) []string {
	var names []string
	for _, p := range peers {
		f := &fetch{c: c, peer: p}
		list, _ := f.list(ctx, "") // a peer that fails now adds no names
		f.hangUp()
		names = append(names, list.Runs...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
