package cluster

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/codec"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/run"
)

// presenting is a body in whose first line host b is called a.
type presenting struct {
	io.ReadCloser
	lines *bufio.Reader
	first []byte
	begun bool
}

func (p *presenting) Read(b []byte) (int, error) {
	if !p.begun {
		_, _ = p.lines.Peek(1) // then it has all that came
		head, _ := p.lines.Peek(p.lines.Buffered())
		_, size, _ := codec.CutMember(head) // 0: a list
		lie := func(text []byte) []byte { return bytes.ReplaceAll(text, []byte(`"host":"b"`), []byte(`"host":"a"`)) }
		if size > 0 {
			p.first = codec.NewPacker(false).Append(nil, lie(canned.Text(head[:size])), 0)
			_, _ = p.lines.Discard(size)
		} else {
			line, err := p.lines.ReadBytes('\n')
			if err != nil && len(line) == 0 {
				return 0, err
			}
			p.first = lie(line)
		}
		p.begun = true
	}
	if len(p.first) > 0 {
		n := copy(b, p.first)
		p.first = p.first[n:]
		return n, nil
	}
	return p.lines.Read(b)
}

func TestAFileOfAnAgentThatPresentsAnothersNameIsNotMerged(t *testing.T) {
	t.Run("the list says so too", func(t *testing.T) { presentAnother(t, "/files") })
	t.Run("only the file says so", func(t *testing.T) { presentAnother(t, "/no such path") })
}

// presentAnother makes a run on hosts a and b, of which b presents files of a. Its lists of that path do the same.
func presentAnother(t *testing.T, list string) {
	bubble(t, []string{"a", "b"}, func(t *testing.T, w *world) {
		c := w.client()
		c.conn.Transport = trip(func(r *http.Request) (*http.Response, error) {
			lies := r.URL.Host == "b" && (strings.HasPrefix(r.URL.Path, "/v1/files/") || strings.HasSuffix(r.URL.Path, list))
			answer, err := w.RoundTrip(r)
			if err == nil && lies {
				answer.Body = &presenting{ReadCloser: answer.Body, lines: bufio.NewReader(answer.Body)}
			}
			return answer, err
		})
		h := Hosts{Client: c, Load: w.peers("a", "b"), Processes: 1, Dir: t.TempDir()}
		var said []string
		res, _ := h.Run(t.Context(), run.Request{ // its error is that of b
			Plan: w.order(nil).Plan, System: anySystem{}, Notify: func(n run.Notice) { said = append(said, n.Text) },
		})
		for _, f := range res.RunFiles {
			must.Match(t, "a", f.Host, "the host of process %d, which is merged", f.Process)
		}
		if len(res.RunFiles) != 2 { // of the process of a and of its vitals
			t.Errorf("%d files are merged: %+v", len(res.RunFiles), res.RunFiles)
		}
		for _, row := range res.Processes {
			if row.Counted != (row.Host == "a") || row.Counted && row.Records != res.Records {
				t.Errorf("the row of %s is %+v, of %+v in all", row.Host, row, res.Records)
			}
		}
		if !slices.ContainsFunc(said, func(text string) bool { return strings.HasPrefix(text, "b: ") }) {
			t.Errorf("nothing is said of b: %q", said)
		}
	})
}

func TestAHostCannotNameTheFileOfAnother(t *testing.T) {
	to := must.Have(newCopies(t.TempDir(), nil))(t)
	defer to.close(false)
	of := func(host string) fileEntry { return fileEntry{RunID: "R", Run: "n", Host: host, Process: 1, Bytes: 1} }
	a, _ := to.copyOf(of("a"), nil)
	a.name, a.size = "a-p1-R.ktr", 1 // it is complete
	if _, err := newWorld(t).client().file(t.Context(), "b", of("b"), "n", maxRunFile, to); !errors.Is(err, errForeign) {
		t.Errorf("the file of a is taken for one of b: %v", err)
	}
}
