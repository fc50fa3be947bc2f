package cluster

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// Times and limits of fetching run files.
const (
	fetchTimeout = 30 * time.Second // for one answer, before which an agent may have to read whole files
	fetchRetries = 5                // attempts in a row without a byte
	fetchAtOnce  = 4                // hosts at a time; more do not make one network faster
)

// fetched are the run files and the problems of one peer.
type fetched struct {
	files    []gotFile
	problems []error
	answered bool // it told which files it has
}

type gotFile struct {
	entry fileEntry
	name  string // in the folder
}

// wanted selects the run files to fetch from each host. The quota bounds their sum.
type wanted struct {
	run   string                             // its name or epoch
	of    func(peer *Peer, e fileEntry) bool // reports whether a file of the run is wanted; nil: all are
	most  int64                              // bytes of one file
	quota *quota
}

// fetchAll fetches from all peers, a few at a time.
func (c *Client) fetchAll(ctx context.Context, peers []Peer, want wanted, root *os.Root) []fetched {
	all := make([]fetched, len(peers))
	slots := make(chan struct{}, fetchAtOnce)
	var fetching sync.WaitGroup
	for i, p := range peers {
		fetching.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			all[i] = c.fetchFrom(ctx, p, want, root)
		})
	}
	fetching.Wait()
	return all
}

func (c *Client) fetchFrom(ctx context.Context, p Peer, want wanted, root *os.Root) fetched {
	f := &fetch{c: c, peer: p, want: want, root: root}
	defer f.hangUp()
	var got fetched
	found, err := f.list(ctx, want.run)
	if err != nil {
		return fetched{problems: []error{err}}
	}
	got.answered = true
	if found.Unread > 0 {
		got.problems = append(got.problems, fmt.Errorf("%d of its files could not be read", found.Unread))
	}
	for _, e := range found.Files {
		if want.of != nil && !want.of(&p, e) {
			continue
		}
		name, err := f.file(ctx, e)
		if err != nil {
			got.problems = append(got.problems, fmt.Errorf("run file of %s, process %d: %w", e.Host, e.Process, err))
			if errors.Is(err, errForeign) {
				break // the agent cannot be trusted
			}
			continue
		}
		got.files = append(got.files, gotFile{entry: e, name: name})
	}
	return got
}

// fetch gets run files from one peer. It dials again when its stream breaks.
type fetch struct {
	c    *Client
	peer Peer
	want wanted
	root *os.Root
	s    stream // may be nil
}

func (f *fetch) hangUp() {
	if f.s != nil {
		_ = f.s.Close() // every request was answered, or the stream is broken
		f.s = nil
	}
}

// retry calls do with a stream, and again with a new stream when that breaks, up to fetchRetries
// times without progress. An agentError is final.
func (f *fetch) retry(ctx context.Context, do func(context.Context) (progress bool, err error)) error {
	wait := 100 * time.Millisecond
	for left := fetchRetries; ; {
		progress, err := f.once(ctx, do)
		var said *agentError
		if err == nil || errors.As(err, &said) || ctx.Err() != nil {
			return err
		}
		f.hangUp()
		if progress {
			left, wait = fetchRetries, 100*time.Millisecond
		}
		if left--; left < 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
		wait = min(2*wait, redialMost)
	}
}

func (f *fetch) once(ctx context.Context, do func(context.Context) (bool, error)) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	if f.s == nil {
		s, _, err := f.c.connect(ctx, f.peer.Addr)
		if err != nil {
			return false, err
		}
		f.s = s
	}
	return do(ctx)
}

// agentError is an error that a retry would not change: an agent's answer, or this machine's
// disk.
type agentError struct{ error }

func (e *agentError) Unwrap() error { return e.error }

func (f *fetch) list(ctx context.Context, run string) (filesFound, error) {
	var found filesFound
	err := f.retry(ctx, func(ctx context.Context) (bool, error) {
		m, err := request(ctx, f.s, toAgent{Files: &filesAsked{Run: run}})
		if err != nil && strings.HasSuffix(err.Error(), stillReading) {
			return true, errors.New(err.Error()) // no agentError: a retry gets further, as checksums are kept
		}
		if err != nil {
			return false, err
		}
		if m.Files == nil {
			return false, fmt.Errorf("%w: it does not list its files", errProtocol)
		}
		found = *m.Files
		return true, nil
	})
	return found, err
}

// file fetches one run file and returns its name in the folder. The name contains the checksum,
// so a file that exists already is not fetched again.
func (f *fetch) file(ctx context.Context, e fileEntry) (string, error) {
	name := fmt.Sprintf("%s-p%d-%s.ktr", e.Host, e.Process, e.SHA256[:16])
	if f.exists(name, e) {
		return name, nil
	}
	if e.Run != f.want.run && e.Epoch != f.want.run {
		return "", errForeign
	}
	if e.Bytes > f.want.most {
		return "", fmt.Errorf("it has %d MiB, and a run of this length writes %d at most; kt collect takes it", e.Bytes>>20, f.want.most>>20)
	}
	if err := f.want.quota.take(e.Bytes); err != nil {
		return "", err
	}
	temporary := name + "." + rand.Text()[:8] + ".part"
	to, err := f.root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		f.want.quota.put(e.Bytes)
		return "", err
	}
	err = errors.Join(f.bytes(ctx, e, to), to.Close())
	if err == nil {
		err = f.root.Rename(temporary, name)
	}
	if err != nil {
		f.want.quota.put(e.Bytes)
		return "", errors.Join(err, f.root.Remove(temporary))
	}
	return name, nil
}

// exists reports whether the complete file is in the folder.
func (f *fetch) exists(name string, e fileEntry) bool {
	have, err := f.root.Open(name)
	if err != nil {
		return false
	}
	defer func() { _ = have.Close() }() // it was only read from
	sum := sha256.New()
	n, err := io.Copy(sum, have)
	return err == nil && n == e.Bytes && hexOf(sum) == e.SHA256
}

func hexOf(sum hash.Hash) string { return hex.EncodeToString(sum.Sum(nil)) }

// bytes fetches the contents of a file. After a broken stream it goes on at the next byte.
func (f *fetch) bytes(ctx context.Context, e fileEntry, to io.Writer) error {
	sum := sha256.New()
	first := firstLine{entry: e}
	at := int64(0)
	for at < e.Bytes {
		err := f.retry(ctx, func(ctx context.Context) (bool, error) {
			b, err := f.chunk(ctx, chunkAsked{RunID: e.RunID, Bytes: e.Bytes, Offset: at})
			if err != nil {
				return false, err
			}
			if err := first.add(b); err != nil {
				return false, &agentError{err}
			}
			at += int64(len(b))
			_, _ = sum.Write(b) // a hash has no errors
			if _, err := to.Write(b); err != nil {
				return false, &agentError{err}
			}
			return true, nil
		})
		if err != nil {
			return err
		}
	}
	if err := first.end(); err != nil {
		return err
	}
	if got := hexOf(sum); got != e.SHA256 {
		return fmt.Errorf("its checksum is %.12s…, and %.12s… was promised", got, e.SHA256)
	}
	return nil
}

func (f *fetch) chunk(ctx context.Context, c chunkAsked) ([]byte, error) {
	if err := send(ctx, f.s, toAgent{Read: &c}); err != nil {
		return nil, err
	}
	typ, b, err := f.s.Receive(ctx)
	if err != nil {
		return nil, err
	}
	if typ == frameChunk && len(b) > 0 && int64(len(b)) <= min(chunkBytes, c.Bytes-c.Offset) {
		return b, nil
	}
	m, err := readFromAgent(typ, b)
	if err == nil && m.Problem != nil {
		return nil, &agentError{errors.New(*m.Problem)}
	}
	return nil, errors.Join(errProtocol, err)
}
