package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/study"
)

// tuneOrder is an order of another host to change settings of this one.
type tuneOrder struct{ study.HostOrder }

func (o *tuneOrder) check() error {
	switch o.Do {
	case study.CheckHost, study.SetHost, study.RestoreHost:
	default:
		return fmt.Errorf("order %q is none", clean(string(o.Do), 64))
	}
	for _, s := range slices.Concat(o.Set, o.Own) {
		if s.Name != clean(s.Name, maxText) || s.Value != clean(s.Value, maxText) {
			return fmt.Errorf("setting %q is none", clean(s.Name, 64))
		}
	}
	return checkName(o.Study)
}

// errNoTune is the answer of an agent that changes nothing.
var errNoTune = errors.New("the agent may not change settings of its host: start it there, as root, with --allow-tune")

// tune does what an order asks for, one after the other.
func (a *agent) tune(r *http.Request) (any, error) {
	o := new(tuneOrder)
	if err := a.read(r, maxOffer, o); err != nil {
		return nil, err
	}
	err := errNoTune
	if a.o.Tune != nil {
		a.tuning.Lock()
		err = a.o.Tune(r.Context(), &o.HostOrder)
		a.tuning.Unlock()
	}
	if o.Do != study.CheckHost || err != nil {
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
	return nothing{}, err
}

// tuneTimeout is how long a host may take to change its settings.
const tuneTimeout = time.Minute

// Tune asks an agent to change settings of its host. The error of one that is away has the command to run there.
func (c *Client) Tune(ctx context.Context, to Peer, o study.HostOrder) error {
	err := to.Err // it has the name
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, tuneTimeout)
		defer cancel()
		if err = c.call(ctx, http.MethodPost, to.Addr, "/v1/tune", &o, new(nothing)); err != nil {
			err = fmt.Errorf("%s: %w", to.Name, unanswered(err, tuneTimeout))
		}
	}
	var said *agentError
	if err == nil || errors.As(err, &said) || o.Do == study.CheckHost {
		return err
	}
	return fmt.Errorf("%w; start the agent there again with --allow-tune, or run kt tune --rollback there", err)
}
