package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/theme"
)

// handler returns the agent as docs/agent-api.md describes it.
func (a *agent) handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, answer := range map[string]func(*http.Request) (any, error){
		"GET /v1/{$}": func(*http.Request) (any, error) { return a.o.Info, nil },
		"GET /v1/clock": func(*http.Request) (any, error) {
			now := a.o.Now().UTC()
			return clockEcho{now, now}, nil
		},
		"GET /v1/state": func(r *http.Request) (any, error) { return a.measure(r.Context()), nil },
		"POST /v1/tune": a.tune,

		"GET /v1/runs":             func(*http.Request) (any, error) { return a.store.runs() },
		"PUT /v1/runs/{epoch}":     a.offer,
		"GET /v1/runs/{epoch}":     a.status,
		"POST /v1/runs/{epoch}":    a.obey,
		"GET /v1/runs/{run}/files": func(r *http.Request) (any, error) { return a.store.list(r.PathValue("run")) },
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			v, err := answer(r)
			reply(w, v, err)
		})
	}
	mux.HandleFunc("GET /v1/files/{id}", a.sendFile)
	mux.HandleFunc("/", noSuch)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A mux redirects paths such as /v1/files/../.. by a handler of its own, and answers OPTIONS * without a body.
		if own, _ := mux.Handler(r); r.RequestURI == "*" || reflect.TypeOf(own) != reflect.TypeFor[http.HandlerFunc]() {
			noSuch(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// noSuch answers a request that docs/agent-api.md does not have.
func noSuch(w http.ResponseWriter, r *http.Request) {
	reply(w, nil, &refusal{http.StatusNotFound, problem{Error: fmt.Sprintf("there is no %s %s; see docs/agent-api.md", clean(r.Method, 16), clean(r.URL.Path, 64))}})
}

// read decodes the body of a request.
func (a *agent) read(r *http.Request, most int64, v checked) error {
	err := decodeBody(r.Body, most, v)
	if err == nil {
		return nil
	}
	a.note(r.RemoteAddr, fmt.Sprintf("%s sent an invalid message: %s", r.RemoteAddr, oneLine(err, 300)))
	return &refusal{http.StatusBadRequest, problem{Error: fmt.Sprintf("%s; its kt is %s", oneLine(err, maxText), a.o.Info.Version)}}
}

func (a *agent) offer(r *http.Request) (any, error) {
	o := new(offer)
	if err := a.read(r, maxOffer, o); err != nil {
		return nil, err
	}
	if epoch := r.PathValue("epoch"); epoch != o.Part.Epoch {
		return nil, fmt.Errorf("the offer is of epoch %s, and its address of another", o.Part.Epoch)
	}
	from := r.RemoteAddr
	again, err := a.accept(o)
	switch {
	case err != nil:
		a.note(from, fmt.Sprintf("refused run %s of %s: %s", o.Part.Run, from, oneLine(err, 300)))
		return nil, err
	case !again:
		a.o.Log(fmt.Sprintf("run %s: accepted from %s, %s", o.Part.Run, from, theme.Plural(len(o.Shares), "process", "processes")))
	}
	return nothing{}, nil
}

// runOf returns the run of a request, and notes that its coordinator is there.
func (a *agent) runOf(r *http.Request) (*hostRun, error) {
	epoch := r.PathValue("epoch")
	a.mu.Lock()
	run := a.known(epoch)
	a.mu.Unlock()
	if run == nil {
		return nil, &refusal{http.StatusNotFound, problem{Error: "the run is not known here", AtWork: checkName(epoch) == nil && has(a.store.orphans(), epoch)}}
	}
	return run, run.handle(event{Kind: evHeard})
}

// status answers with the state of a run: at once, or with "after" when its version is above that.
func (a *agent) status(r *http.Request) (any, error) {
	received := time.Now()
	run, err := a.runOf(r)
	if err != nil {
		return nil, err
	}
	after, err := number(r, "after")
	if err != nil {
		return nil, err
	}
	held, release := context.WithTimeout(r.Context(), heldFor)
	defer release()
	s, changed := run.status()
	for int64(s.Version) <= after && held.Err() == nil {
		select {
		case <-changed:
		case <-held.Done():
		}
		s, changed = run.status()
	}
	took := time.Since(received) // before Sent is read: a pause between the two counts as a slow answer, and its bound holds
	s.Clock.Sent = a.o.Now().UTC()
	s.Clock.Received = s.Clock.Sent.Add(-took)
	return s, nil
}

// number returns a parameter of a request.
func number(r *http.Request, name string) (int64, error) {
	text := cmp.Or(r.FormValue(name), "0")
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, &refusal{http.StatusBadRequest, problem{Error: fmt.Sprintf("%s=%s: it must be 0 or more", name, clean(text, 64))}}
	}
	return n, nil
}

// obey gives an order of the coordinator to a run, and answers with its state.
func (a *agent) obey(r *http.Request) (any, error) {
	run, err := a.runOf(r)
	if err != nil {
		return nil, err
	}
	o := new(order)
	if err := a.read(r, maxBody, o); err != nil {
		return nil, err
	}
	if err := run.obey(o); err != nil {
		return nil, err
	}
	return a.status(r)
}

const (
	heldFor     = time.Second               // the longest time for which a request for the state of a run is held
	readEvery   = 500 * time.Millisecond    // the interval between two readings of a file that grows
	flushEvery  = time.Second - readEvery/2 // of a file that grows
	tuneTimeout = time.Minute               // for a host to change its settings
)

// sendFile sends the bytes of a run file from an offset on. With follow it goes on while a process writes the file.
func (a *agent) sendFile(w http.ResponseWriter, r *http.Request) {
	offset, err := number(r, "offset")
	var f *os.File
	if err == nil {
		f, err = a.store.find(r.PathValue("id"))
	}
	if err != nil {
		reply(w, nil, err)
		return
	}
	defer func() { _ = f.Close() }() // it was only read from
	w.Header().Set("Content-Type", "application/zstd")
	if err := copyFrom(r.Context(), w, f, offset, r.FormValue("follow") == "1"); err != nil {
		panic(http.ErrAbortHandler) // so that the peer does not take it for the end of the file
	}
}

// copyFrom copies a file from an offset on, and with follow waits for more while a process writes it.
func copyFrom(ctx context.Context, w http.ResponseWriter, f *os.File, offset int64, follow bool) error {
	var flushed time.Time
	for unsent := true; ; { // the header is
		atWork := follow && result.Claimed(f) // before reading, because an unclaimed file does not grow
		n, err := io.Copy(w, io.NewSectionReader(f, offset, math.MaxInt64-offset))
		if err != nil || !atWork {
			return err
		}
		offset += n
		if unsent = unsent || n > 0; unsent && time.Since(flushed) >= flushEvery {
			flushed, unsent = time.Now(), false
			if err := http.NewResponseController(w).Flush(); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Until(time.Now().Truncate(readEvery).Add(readEvery))): // all files together, in few packets
		}
	}
}

// tuneOrder is an order of another host to change settings of this one.
type tuneOrder struct{ study.HostOrder }

func (o *tuneOrder) check() error {
	if !slices.Contains([]study.HostDo{study.LookAtHost, study.TryHost, study.CheckHost, study.SetHost, study.RestoreHost}, o.Do) {
		return fmt.Errorf("order %q is none", clean(string(o.Do), 64))
	}
	for _, s := range slices.Concat(o.Set, o.Own) {
		if s.Name != clean(s.Name, maxText) || s.Value != clean(s.Value, maxText) {
			return fmt.Errorf("setting %q is none", clean(s.Name, 64))
		}
	}
	return checkName(o.Study)
}

// tune does what an order asks for, one after the other.
func (a *agent) tune(r *http.Request) (any, error) {
	o := new(tuneOrder)
	if err := a.read(r, maxOffer, o); err != nil {
		return nil, err
	}
	err := errors.New("the agent may not change settings of its host: start it there, as root, with --allow-tune")
	if a.o.Tune != nil {
		a.tuning.Lock()
		err = a.o.Tune(r.Context(), &o.HostOrder)
		a.tuning.Unlock()
	}
	if o.Do != study.CheckHost && o.Do != study.LookAtHost || err != nil {
		text := fmt.Sprintf("study %s of %s: %s", o.Study, r.RemoteAddr, o.Do)
		for _, s := range o.Set {
			text += fmt.Sprintf(" %s=%s", s.Name, s.Value)
		}
		text = clean(text, maxText)
		if err != nil { // a peer may repeat it as often as it likes
			a.note(r.RemoteAddr, text+": "+clean(err.Error(), 300))
		} else {
			a.o.Log(text)
		}
	}
	return tuneAnswer{o.Found}, err
}

type tuneAnswer struct {
	Found []study.HostFinding `json:"found,omitempty"`
}

func (a *tuneAnswer) check() error {
	cleanTexts(a, maxText)
	return nil
}

// Tune asks an agent to look at settings of its host, or to change them. The error of one that is away has the command to run there.
func (c *Client) Tune(ctx context.Context, to Peer, o study.HostOrder) ([]study.HostFinding, error) {
	var answered tuneAnswer
	err := to.Err // it has the name
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, tuneTimeout)
		defer cancel()
		if err = c.call(ctx, http.MethodPost, to.Addr, "/v1/tune", &o, &answered); err != nil {
			err = fmt.Errorf("%s: %w", to.Name, unanswered(err, tuneTimeout))
		}
	}
	var answer *agentError
	if err == nil || errors.As(err, &answer) || o.Do == study.CheckHost || o.Do == study.LookAtHost {
		return answered.Found, err
	}
	return nil, fmt.Errorf("%w; start the agent there again with --allow-tune, or run kt tune --rollback there", err)
}
