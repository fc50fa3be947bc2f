package cluster

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/must"
)

// FuzzOrder reads what an agent may say to a process. Whatever comes, it is an order of
// bounded length or an error, and what follows the line is left for the next order.
func FuzzOrder(f *testing.F) {
	f.Add([]byte(`{"job":{"part":{"run":"r","host":"h","process":1},"plan":{"command":"produce"},"command_line":[],"run_file":"x"}}` + "\n{}\n"))
	f.Add([]byte(`{"start":{"at":"2026-01-31T15:04:05Z","agreed":{"at":"2026-01-31T15:04:05Z"}}}` + "\n"))
	f.Add([]byte("{\"stop\":true}\n"))
	f.Add([]byte("no order\n"))
	f.Add(bytes.Repeat([]byte("x"), 100_000))
	f.Fuzz(func(t *testing.T, data []byte) {
		in := bufio.NewReader(bytes.NewReader(data))
		if _, err := readOrder(in); err != nil {
			return
		}
		rest := must.Have(io.ReadAll(in))(t)
		_, want, _ := bytes.Cut(data, []byte("\n"))
		if !bytes.Equal(rest, want) {
			t.Errorf("%q is left of %q", rest, data)
		}
	})
}

func TestAnOrderThatIsTooLongIsAnError(t *testing.T) {
	in := bufio.NewReader(strings.NewReader(strings.Repeat(" ", longestOrder+100_000) + "{}\n"))
	if m, err := readOrder(in); err == nil {
		t.Errorf("%+v", m)
	}
}

// hearing calls a function as soon as a process says anything.
type hearing func()

func (h hearing) Write(b []byte) (int, error) {
	h()
	return len(b), nil
}

func TestAProcessHasBegunWhenItsAgentHearsOfIt(t *testing.T) {
	begun := false
	p := &Part{Begin: func() { begun = true }, out: json.NewEncoder(hearing(func() {
		if !begun {
			t.Error("an order to stop would end a load that has not begun")
		}
	}))}
	p.began(time.Now())
}

func TestAProcessWhoseAgentIsGoneEndsWhenItsTimeIsUp(t *testing.T) {
	const most, due = time.Minute, 10 * time.Second
	const start = `{"start":{"at":"2000-01-01T00:00:10Z","agreed":{"at":"2000-01-01T00:00:10Z"}}}` + "\n" // 10 s from now
	for name, tc := range map[string]struct {
		said   string
		most   time.Duration
		drains bool // a second after it was asked to end
		stops  []time.Duration
	}{
		"it hangs":                         {start, most, false, []time.Duration{due + most, due + most + aloneGrace}},
		"it drains":                        {start, most, true, []time.Duration{due + most}},
		"it hangs after a stop":            {start + `{"stop":true}` + "\n", most, false, []time.Duration{0, due + most, due + most + aloneGrace}},
		"nobody knows how long it lasts":   {start, 0, false, nil},
		"it has not begun":                 {"", most, false, nil},
		"it is to leave before it drained": {`{"abort":true}` + "\n", most, false, []time.Duration{0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				ctx, abort := context.WithCancel(t.Context())
				defer abort()
				var stops []time.Duration
				p := &Part{in: bufio.NewReader(strings.NewReader(tc.said)), start: make(chan StartOrder, 1), gone: make(chan struct{})}
				p.Job.Most = tc.most
				p.Stop = func() {
					if stops = append(stops, time.Since(began)); tc.drains {
						time.AfterFunc(time.Second, abort)
					}
				}
				p.Listen(ctx)
				must.Match(t, tc.stops, stops, "it was asked to end after")
			})
		})
	}
}
