package merge

import (
	"bytes"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/result"
)

func TestAPartOfARunThatGoesOnIsRunning(t *testing.T) {
	part := func(host string, process int, trailer result.Trailer) []byte {
		return partFile{run: "r", epoch: "e", host: host, process: process, events: canned.Written(1, 3), trailer: trailer}.bytes(t)
	}
	type file struct {
		content []byte
		atWork  bool
	}
	goes, died, ended := file{part("a", 1, result.Trailer{}), true}, file{part("a", 2, result.Trailer{}), false}, file{part("a", 3, trailerOf(3)), true}
	watched := file{part("b", 0, result.Trailer{}), false}
	for _, tc := range []struct {
		name  string
		files []file
		want  string // state of each file, and + if it counts
		says  string
	}{
		{"alone it counts", []file{goes, watched}, "running+ running", "the run still goes on: "},
		{"without those that died", []file{goes, died}, "running+ lost", "a/2 is lost: "},
		{"but not beside one that has ended", []file{goes, ended}, "running complete+", "a/1 is running: its figures are up to 3.0 s"},
		{"nobody writes a file that has an end", []file{ended}, "complete+", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := NewSet()
			for _, f := range tc.files {
				s.offer("file", bytes.NewReader(f.content), int64(len(f.content)), f.atWork)
			}
			r := must.Have(s.Result(t.Context()))(t)
			var got []string
			for _, f := range r.RunFiles {
				state := string(f.State)
				if f.Counted {
					state += "+"
				}
				got = append(got, state)
			}
			if got := strings.Join(got, " "); got != tc.want || !strings.Contains(r.Notice, tc.says) {
				t.Errorf("%q, want %q; the notice is %q, want %q", got, tc.want, r.Notice, tc.says)
			}
			again := must.Have(Read(bytes.NewReader(collection(t, s)), int64(len(collection(t, s)))))(t)
			must.Match(t, marshal(t, r), marshal(t, again), "the collection has another result")
		})
	}
}
