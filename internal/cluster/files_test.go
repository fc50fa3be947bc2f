package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/result"
)

// leave writes a run file of another command.
func leave(t *testing.T, path, runID string, part *result.Part, filler int) []byte {
	t.Helper()
	f := must.Have(os.Create(path))(t)
	noise := make([]byte, filler/2) // it hardly gets smaller
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	r, err := result.NewRunFile(f, result.Header{Schema: result.Schema, RunID: runID, Part: part, Args: []string{fmt.Sprintf("%x", noise)}})
	if err == nil {
		err = r.Close(result.Trailer{Ended: result.Completed})
	}
	must.Hold(t, err == nil, "%v", err)
	b, _ := os.ReadFile(path)
	return b
}

func TestRunFilesOfOtherCommandsAreHandedOutByTheNameOfTheirRun(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		shared := t.TempDir()
		a := w.add("a", "client", func(o *AgentOptions) { o.Shared = shared })
		w.add("b", "client")
		nightly := func(p int) *result.Part { return &result.Part{Run: "nightly", Host: "vm1", Process: p} }
		// The second file takes several chunks.
		one := leave(t, filepath.Join(shared, "1.ktr"), "R1", nightly(1), 10)
		two := leave(t, filepath.Join(shared, "2.ktr"), "R2", nightly(2), 768<<10)
		leave(t, filepath.Join(shared, "3.ktr"), "R3", &result.Part{Run: "other", Host: "vm1", Process: 1}, 10)
		leave(t, filepath.Join(shared, "4.ktr"), "R4", nil, 10)                                             // stands for itself
		leave(t, filepath.Join(shared, "5.txt"), "R5", nightly(5), 10)                                      // is called something else
		leave(t, filepath.Join(shared, "6.ktr"), "R6", &result.Part{Run: "nightly", Host: "../vm1"}, 10)    // would be a path
		leave(t, filepath.Join(a.dir, "by-hand.ktr"), "R7", nightly(7), 10)                                 // is not of the agent's making
		_ = os.WriteFile(filepath.Join(shared, "8.ktr"), []byte("not a run file\n"), 0o600)                 // is something else
		_ = os.Symlink(filepath.Join(a.dir, "by-hand.ktr"), filepath.Join(shared, "9.ktr"))                 // leads out of the folder
		_ = os.WriteFile(filepath.Join(shared, "10.ktr"), canned.Packed(`{"header":{"part":null}}`), 0o600) // has no run
		_ = os.WriteFile(filepath.Join(shared, "12.ktr"), nil, 0o600)                                       // was not begun
		_ = os.WriteFile(filepath.Join(shared, "13.ktr"), one[:40], 0o600)                                  // is being begun
		_ = os.WriteFile(filepath.Join(shared, "14.ktr"), append([]byte(`{"collection":{"schema":2}}`+"\n"), one...), 0o600)
		must.Do(t, os.Mkdir(filepath.Join(shared, "11.ktr"), 0o700)) // is a folder
		dir := t.TempDir()
		files, problems := w.client().Results(t.Context(), w.peers("a", "b"), "nightly", dir)
		must.True(t, len(problems) == 0, "problems %v", problems)
		var got [][]byte
		for _, f := range files {
			b, _ := os.ReadFile(f)
			got = append(got, b)
			info, _ := os.Stat(f)
			must.True(t, info.Mode().Perm() == 0o600, "%s has mode %v", f, info.Mode())
		}
		must.True(t, len(got) == 2 && bytes.Equal(got[0], one) && bytes.Equal(got[1], two), "files %q", files)
		again, _ := w.client().Results(t.Context(), w.peers("a", "a", "b"), "nightly", dir)
		here, _ := filepath.Glob(filepath.Join(dir, "*"))
		must.True(t, slices.Equal(files, again) && len(here) == 2, "fetched again, from two agents with one folder, the folder holds %q", here)
		_, problems = w.client().Results(t.Context(), w.peers("a", "b"), "nigthly", t.TempDir())
		var unknown *UnknownRunError
		if len(problems) != 1 || problems[0].Error() != "no agent has run files of run nigthly" ||
			!errors.As(problems[0], &unknown) || !slices.Equal(unknown.Known, []string{"nightly", "other"}) {
			t.Errorf("where there are none: %v, %+v", problems, unknown)
		}
		w.hosts["b"].mu.Lock()
		w.hosts["b"].ended = true // it takes no call
		w.hosts["b"].mu.Unlock()
		_, problems = w.client().Results(t.Context(), w.peers("a", "b"), "nigthly", t.TempDir())
		if len(problems) != 2 || !errors.As(problems[1], &unknown) || !unknown.Silent || !slices.Equal(unknown.Known, []string{"nightly", "other"}) {
			t.Errorf("where one does not answer and the other has none: %v, %+v", problems, unknown)
		}
		files, problems = w.client().Results(t.Context(), w.peers("a", "b"), "nightly", t.TempDir())
		if len(files) == 0 || len(problems) != 1 || errors.As(problems[0], &unknown) {
			t.Errorf("where one does not answer and the other has some: %q, %v", files, problems)
		}
	})
}

// trip is a network that changes the answers of another.
type trip func(r *http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// through returns a client whose network changes the answers to requests for files.
func (w *world) through(t *testing.T, change func(path string, body io.ReadCloser) io.ReadCloser) *Client {
	t.Helper()
	c := w.client()
	c.conn.Transport = trip(func(r *http.Request) (*http.Response, error) {
		answer, err := w.RoundTrip(r)
		if err == nil {
			answer.Body = change(r.URL.Path, answer.Body)
		}
		return answer, err
	})
	return c
}

// flaky is a body that breaks after some bytes.
type flaky struct {
	io.ReadCloser
	left int
}

func (f *flaky) Read(b []byte) (int, error) {
	if f.left == 0 {
		return 0, errBroken
	}
	n, err := f.ReadCloser.Read(b[:min(len(b), f.left)])
	f.left -= n
	return n, err
}

func TestAFetchGoesOnWhereItsStreamBroke(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		shared := t.TempDir()
		w.add("a", "client", func(o *AgentOptions) { o.Shared = shared })
		want := leave(t, filepath.Join(shared, "1.ktr"), "R1", &result.Part{Run: "n", Host: "a", Process: 1}, 5<<20)
		pieces := 0
		fetch := func(change func(io.ReadCloser) io.ReadCloser) ([]string, []error) {
			dir := t.TempDir()
			c := w.through(t, func(path string, body io.ReadCloser) io.ReadCloser {
				if !strings.HasPrefix(path, "/v1/files/") {
					return body
				}
				pieces++
				return change(body)
			})
			files, problems := c.Results(t.Context(), w.peers("a"), "n", dir)
			return files, problems
		}
		files, problems := fetch(func(b io.ReadCloser) io.ReadCloser { return &flaky{b, 1 << 20} })
		must.Hold(t, len(problems) == 0 && len(files) == 1, "files %q, problems %v", files, problems)
		if b, _ := os.ReadFile(files[0]); !bytes.Equal(b, want) || pieces != 3 {
			t.Errorf("%d bytes of %d came in %d pieces, want 3", len(b), len(want), pieces)
		}
		began := time.Now()
		_, problems = fetch(func(b io.ReadCloser) io.ReadCloser { return &flaky{b, 0} })
		must.True(t, len(problems) == 1 && time.Since(began) <= time.Minute, "a stream that breaks at once: %v after %v", problems, time.Since(began))
	})
}

// endless is a body of a first piece, and zeros for ever.
type endless struct {
	first io.Reader
	told  *int64 // bytes
}

func (e *endless) Read(b []byte) (int, error) {
	n, err := e.first.Read(b)
	if err != nil {
		clear(b)
		n = len(b)
	}
	*e.told += int64(n)
	return n, nil
}

func (e *endless) Close() error { return nil }

func TestARogueAgentFillsNoDisk(t *testing.T) {
	header := func(run string) []byte {
		return canned.Packed(fmt.Sprintf(`{"header":{"schema":2,"run_id":"R","part":{"run":%q,"host":"a","process":1}}}`, run))
	}
	const piece = 64 << 10
	for name, tc := range map[string]struct {
		run   string // of the listed files
		bytes int64  // of each
		sent  []byte
		want  string
		most  int64 // bytes that are read
	}{
		"more than there is room for": {"n", 600 << 20, header("n"), "not enough space on this disk", 0},
		"a file that is none":         {"n", 400 << 20, nil, "does not begin with the header of this run", maxFirstLine + piece},
		"a file of another run":       {"n", 400 << 20, header("other"), "does not begin with the header of this run", piece},
		"files of another run":        {"other", 400 << 20, header("other"), "does not begin with the header of this run", 0},
	} {
		bubbleOf(t, name, []string{"a"}, func(t *testing.T, w *world) {
			told := int64(0)
			c := w.client()
			c.free = func(string) (int64, error) { return 1 << 30, nil }
			c.conn.Transport = trip(func(r *http.Request) (*http.Response, error) {
				answer := &http.Response{StatusCode: http.StatusOK, Header: make(http.Header), Request: r}
				if strings.HasPrefix(r.URL.Path, "/v1/files/") {
					answer.Body = &endless{bytes.NewReader(tc.sent), &told}
					return answer, nil
				}
				var list filesFound
				for range 20 {
					list.Files = append(list.Files, fileEntry{
						RunID: "R", Run: tc.run, Host: "a", Process: 1, Bytes: tc.bytes,
					})
				}
				b, err := json.Marshal(list)
				answer.Body = io.NopCloser(bytes.NewReader(b))
				return answer, err
			})
			dir := t.TempDir()
			files, problems := c.Results(t.Context(), w.peers("a"), "n", dir)
			must.True(t, len(files) == 0 && len(problems) != 0 && strings.Contains(problems[0].Error(), tc.want),
				"files %q, problems %v", files, problems)
			must.True(t, told <= tc.most, "%d KiB were read, want at most %d", told>>10, tc.most>>10)
			here, _ := filepath.Glob(filepath.Join(dir, "*"))
			must.True(t, len(here) == 0, "the folder holds %q", here)
		})
	}
}

func TestACopyGrowsNoFasterThanARunFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		copyWith := func(free int64) *copyFile {
			c := must.Have(newCopies(t.TempDir(), func(string) (int64, error) { return 2 * free, nil }))(t)
			t.Cleanup(func() { c.close(false) })
			f, _ := c.copyOf(fileEntry{RunID: "R", Host: "a"}, nil)
			f.lines.known = true
			must.Do(t, f.create())
			return f
		}
		fill := func(f *copyFile) (n int) {
			for ; ; n++ {
				if err := f.add(make([]byte, 1<<20)); err != nil {
					return n
				}
			}
		}
		f := copyWith(1 << 40)
		must.Match(t, 16, fill(f), "MiB are written at once")
		<-time.After(10 * time.Second)
		must.Match(t, 40, fill(f), "MiB are written in 10 s")
		must.Match(t, 3, fill(copyWith(3<<20)), "MiB are written where there is room for 3")
	})
}

func TestAnAgentKeepsTheNewestRunsAndNoFileOfOthersIsRemoved(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		a := w.add("a", "client", func(o *AgentOptions) { o.Keep = 2 })
		others := []string{"by-hand.ktr", "20200101-000000-E.ktr", "20200101-000000-E-p1.ktr.bak", "x-20200101-000000-E-p1.ktr"}
		for _, n := range others {
			leave(t, filepath.Join(a.dir, n), "R", nil, 1)
		}
		leave(t, filepath.Join(a.dir, "19990101-000000-OLD-p12.ktr"), "R", nil, 1) // as an agent makes it
		var epochs []string
		for range 4 {
			o := w.order([]string{"a"})
			epochs = append(epochs, o.Epoch)
			must.Both(w.run(o))(t)
		}
		found, _ := filepath.Glob(filepath.Join(a.dir, "*"))
		for i, f := range found {
			found[i] = filepath.Base(f)
		}
		for _, n := range others {
			must.True(t, slices.Contains(found, n), "%s was removed", n)
		}
		must.Match(t, 2*3, len(found)-len(others), "files are kept: %q", found)
		for _, f := range found {
			must.True(t, !strings.Contains(f, epochs[0]) && !strings.Contains(f, epochs[1]) && !strings.Contains(f, "OLD"),
				"%s is kept, of the epochs %v", f, epochs)
		}
		info, _ := os.Stat(a.dir)
		must.True(t, info.Mode().Perm() == 0o700, "the folder has mode %v", info.Mode())
		must.Match(t, 2, a.agent.measure(t.Context()).Results, "results that the agent says it holds")
	})
}

func TestTheFolderForRunFilesHasToBeThere(t *testing.T) {
	bubble(t, []string{"a"}, func(t *testing.T, w *world) {
		o := w.order([]string{"a"})
		_, err := w.client().run(t.Context(), o, runOptions{Dir: filepath.Join(t.TempDir(), "none")})
		must.True(t, errors.Is(err, os.ErrNotExist), "the error is %v", err)
		w.idle(t, 0)
	})
}

func TestAListingFitsAnAnswer(t *testing.T) {
	found := filesFound{}
	for i := range maxListed {
		name := strings.Repeat("n", 64)
		found.Files = append(found.Files, fileEntry{
			RunID: fmt.Sprintf("%064d", i), Run: name, Epoch: name, Host: name, Process: 256, Bytes: maxRunFile, AtWork: true,
		})
	}
	b := must.Have(json.Marshal(found))(t)
	must.Err(t, "", decodeBody(bytes.NewReader(b), maxAnswer, new(filesFound)), "%d bytes", len(b))
}

// silent is a body that has nothing until its request ends.
type silent struct{ ctx context.Context }

func (s silent) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

func (silent) Close() error { return nil }

func TestAFileOfWhichNothingComesIsSaidToStall(t *testing.T) {
	for name, begins := range map[string]bool{"the answer does not begin": false, "the answer has no bytes": true} {
		bubbleOf(t, name, nil, func(t *testing.T, w *world) {
			shared := t.TempDir()
			w.add("a", "client", func(o *AgentOptions) { o.Shared = shared })
			leave(t, filepath.Join(shared, "1.ktr"), "R1", &result.Part{Run: "n", Host: "a", Process: 1}, 10)
			c := w.client()
			c.conn.Transport = trip(func(r *http.Request) (*http.Response, error) {
				switch {
				case !strings.HasPrefix(r.URL.Path, "/v1/files/"):
					return w.RoundTrip(r)
				case !begins:
					<-r.Context().Done()
					return nil, r.Context().Err()
				}
				return &http.Response{StatusCode: http.StatusOK, Header: make(http.Header), Body: silent{r.Context()}, Request: r}, nil
			})
			began := time.Now()
			_, problems := c.Results(t.Context(), w.peers("a"), "n", t.TempDir())
			must.True(t, len(problems) == 1 && errors.Is(problems[0], errStalled) && time.Since(began) <= (fetchRetries+2)*fetchTimeout,
				"problems %v after %v", problems, time.Since(began))
		})
	}
}
