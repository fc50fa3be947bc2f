package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/result"
)

// Results fetches all run files of a run, by its name or epoch, from all peers into dir. It returns the paths of the
// files and a problem for each peer or file that failed. A run that is still going on is a problem too, because its
// files are incomplete. If none of the peers that answer has a file, the last problem is an UnknownRunError.
func (c *Client) Results(ctx context.Context, peers []Peer, run, dir string) (files []string, problems []error) {
	to, err := newCopies(dir, c.free)
	if err != nil {
		return nil, []error{err}
	}
	defer to.close(false)
	going := &GoingError{run: run}
	var answered, lacking []Peer // those that lack it have no file of it
	for i, f := range c.fetchAll(ctx, peers, run, nil, maxRunFile, to) {
		if f.answered {
			answered = append(answered, peers[i])
			if len(f.files)+len(f.problems) == 0 {
				lacking = append(lacking, peers[i])
			}
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
	if len(answered) > 0 && len(lacking) == len(answered) {
		problems = append(problems, &UnknownRunError{Run: run, Known: c.Runs(ctx, lacking), Silent: len(answered) < len(peers)})
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

// pull reads the file of an agent into the end of its copy, up to most bytes in all; 0: to its end.
func (c *Client) pull(ctx context.Context, addr string, f *copyFile, most int64, follow bool) error {
	trying, cancel := context.WithCancelCause(ctx)
	defer cancel(nil) // the rest of a body that is not wanted
	timer := time.AfterFunc(fetchTimeout, func() { cancel(errStalled) })
	defer timer.Stop()
	path := fmt.Sprintf("/v1/files/%s?offset=%d", f.want.RunID, f.size)
	if follow {
		timer.Stop() // a file that grows may rest
		path += "&follow=1"
	}
	response, err := c.send(trying, http.MethodGet, addr, path, nil)
	if err != nil {
		return stalled(trying, err)
	}
	defer func() { _ = response.Body.Close() }() // it was read as far as it is wanted
	b := make([]byte, 64<<10)
	for err == nil && (most == 0 || f.size < most) {
		if most > 0 {
			b = b[:min(int64(len(b)), most-f.size)]
		}
		if !follow {
			timer.Reset(fetchTimeout)
		}
		var n int
		n, err = response.Body.Read(b)
		if n > 0 {
			if here := f.add(b[:n]); here != nil {
				return &agentError{error: here}
			}
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return stalled(trying, err)
}

func stalled(trying context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(trying), errStalled) {
		return errStalled
	}
	return err
}

// errStalled is the error of an answer of which no byte came within fetchTimeout.
var errStalled = fmt.Errorf("no byte of it came for %v", fetchTimeout)

// Times and limits of fetching run files.
const (
	fetchTimeout = 30 * time.Second // for a listing, and without a byte
	fetchRetries = 5                // attempts in a row without a byte
	fetchAtOnce  = 4                // hosts at a time; more do not make one network faster
	retryMost    = 2 * time.Second  // the longest wait between two attempts

	scratchPrefix = "collect-"         // begins the names of folders for fetched files
	staleScratch  = 7 * 24 * time.Hour // the age of a folder that a killed kt has left: not all file systems have locks
)

// retry calls do until it succeeds, up to fetchRetries times in a row without progress. An agentError is final.
func retry(ctx context.Context, do func(context.Context) (progress bool, err error)) error {
	var wait backoff
	for left := fetchRetries; ; wait.pause(ctx) {
		progress, err := do(ctx)
		if progress {
			left, wait = fetchRetries, 0
		}
		var answer *agentError
		if left--; err == nil || errors.As(err, &answer) || ctx.Err() != nil || left < 0 {
			return err
		}
	}
}

// fetched are the run files and the problems of one peer.
type fetched struct {
	files    []gotFile
	problems []error
	answered bool // it listed which files it has
}

type gotFile struct {
	entry fileEntry
	*copyFile
}

// fetchAll completes the copies of the wanted files of a run, a few peers at a time. most bounds the bytes of one file.
func (c *Client) fetchAll(ctx context.Context, peers []Peer, run string, wanted func(*Peer, fileEntry) bool, most int64, to *copies) []fetched {
	all := make([]fetched, len(peers))
	slots := make(chan struct{}, fetchAtOnce)
	var fetching sync.WaitGroup
	for i, p := range peers {
		fetching.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			got := &all[i]
			var found filesFound
			err := retry(ctx, func(ctx context.Context) (bool, error) {
				ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
				defer cancel()
				return false, c.call(ctx, http.MethodGet, p.Addr, runPath(run)+"/files", nil, &found)
			})
			if got.answered = err == nil; err != nil {
				got.problems = []error{err}
				return
			}
			for _, e := range found.Files {
				if wanted != nil && !wanted(&p, e) {
					continue
				}
				f, err := c.file(ctx, p.Addr, e, run, most, to)
				if err == nil {
					got.files = append(got.files, gotFile{e, f})
					continue
				}
				got.problems = append(got.problems, fmt.Errorf("run file of %s, process %d: %w", e.Host, e.Process, err))
				if errors.Is(err, errForeign) {
					return // the agent cannot be trusted
				}
			}
		})
	}
	fetching.Wait()
	return all
}

// file completes the copy of a listed file.
func (c *Client) file(ctx context.Context, addr string, e fileEntry, run string, most int64, to *copies) (*copyFile, error) {
	switch {
	case e.Run != run && e.Epoch != run:
		return nil, errForeign
	case e.Bytes > most:
		return nil, fmt.Errorf("it has %d MiB, and a run of this length writes %d at most; kt collect takes it", e.Bytes>>20, most>>20)
	}
	f, _ := to.copyOf(e, nil)
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.want.isSame(e) { // another host has named a file by this id
		return nil, errForeign
	}
	if f.name != "" && f.file == nil && f.size >= e.Bytes { // another agent has it too
		return f, nil
	}
	f.most = max(f.most, e.Bytes)
	if f.file == nil { // nothing was followed, or could be written
		if err := errors.Join(f.discard(), to.reserve(e.Bytes)); err != nil {
			return nil, err
		}
		to.room.Add(e.Bytes) // it is taken as the bytes come
		f.size, f.lines = 0, lines{}
		if err := f.create(); err != nil {
			return nil, err
		}
	}
	err := retry(ctx, func(ctx context.Context) (bool, error) {
		before := f.size
		if f.size >= e.Bytes {
			return true, nil
		}
		err := c.pull(ctx, addr, f, e.Bytes, false)
		if err == nil && f.size < e.Bytes {
			err = io.ErrUnexpectedEOF
		}
		return f.size > before, err
	})
	if err == nil && !f.lines.known {
		err = errForeign
	}
	var here *agentError
	switch {
	case err == nil:
		_, gone := to.root.Stat(f.name) // somebody may have removed it meanwhile
		err = errors.Join(gone, f.close())
	case errors.Is(err, errForeign), errors.As(err, &here) && here.code == 0: // else it is a copy that was cut off
		err = errors.Join(err, f.discard())
	}
	return f, err
}

// Scratch makes a folder for fetched files in base; in the system's folder for temporary files if base is "" or nothing can be made in it.
func Scratch(base string, now time.Time) (dir string, remove func(), err error) {
	if base != "" {
		_ = os.MkdirAll(base, 0o755)                          // else no folder can be made in it
		left, _ := fs.Glob(os.DirFS(base), scratchPrefix+"*") // without a list nothing is removed
		for _, name := range left {
			f, err := os.Open(filepath.Join(base, name))
			if err != nil {
				continue
			}
			info, err := f.Stat()
			if err == nil && info.IsDir() && now.Sub(info.ModTime()) > staleScratch && !result.Claimed(f) {
				_ = os.RemoveAll(f.Name()) // a killed kt left it; the hosts still have the files, and the next kt tries again
			}
			_ = f.Close() // only a folder
		}
	}
	dir, err = os.MkdirTemp(base, scratchPrefix+"*")
	switch {
	case err != nil && base != "":
		return Scratch("", now)
	case err != nil:
		return "", nil, err
	}
	f, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	_ = result.TryClaim(f) // nobody else knows the folder
	return dir, func() {
		_ = os.RemoveAll(dir) // the collection has the files
		result.Release(f)
	}, nil
}
