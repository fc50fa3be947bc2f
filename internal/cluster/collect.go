package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Results fetches all run files of a run from all peers, by its name or epoch. With no
// name it is the only run that they have. Files that are whole are returned whatever
// went wrong with others; problems are of those, by their peer.
func (c *Client) Results(ctx context.Context, peers []Peer, run, dir string) (files []string, problems []error) {
	if run == "" {
		var err error
		if run, err = c.onlyRun(ctx, peers); err != nil {
			return nil, []error{err}
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, []error{fmt.Errorf("open the folder for run files: %w", err)}
	}
	defer func() { _ = root.Close() }() // a folder
	fetched := c.fetchAll(ctx, peers, run, root)
	for i, f := range fetched {
		for _, g := range f.files {
			files = append(files, filepath.Join(dir, g.name))
		}
		for _, err := range f.problems {
			problems = append(problems, fmt.Errorf("%s: %w", cmp.Or(peers[i].Name, peers[i].Addr), err))
		}
	}
	slices.Sort(files)
	files = slices.Compact(files)
	if len(files) == 0 && len(problems) == 0 {
		problems = []error{fmt.Errorf("no agent has run files of run %s", run)}
	}
	return files, problems
}

// onlyRun is the run that the peers have, when there is one; else the error lists them.
func (c *Client) onlyRun(ctx context.Context, peers []Peer) (string, error) {
	found := make(map[string]runEntry)
	var errs []error
	for _, p := range peers {
		list, err := c.list(ctx, p, "")
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", cmp.Or(p.Name, p.Addr), err))
		}
		for _, r := range list.Runs {
			r.Files += found[r.Run].Files
			found[r.Run] = r
		}
	}
	if len(found) == 1 {
		for name := range found {
			return name, nil
		}
	}
	if len(found) == 0 {
		return "", errors.Join(append(errs, errors.New("no agent has run files of a run with a name"))...)
	}
	var names []string
	for _, r := range found {
		names = append(names, fmt.Sprintf("%s (%s, %d files)", r.Run, r.Started.UTC().Format("2006-01-02 15:04"), r.Files))
	}
	slices.Sort(names)
	return "", fmt.Errorf("the agents have several runs, choose one with --run: %s", strings.Join(names, ", "))
}

// list asks one agent for its run files.
func (c *Client) list(ctx context.Context, p Peer, run string) (filesFound, error) {
	f := &fetch{c: c, peer: p}
	defer f.hangUp()
	return f.list(ctx, run)
}
