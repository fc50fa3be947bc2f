package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// HostSetting is a setting of a host that kt tune can change: "sysctl.KEY", or "tune.ID" for what kt tune
// proposes of it.
type HostSetting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// TuneOrder asks a host to change some of its settings for a study. The host alone decides whether it may:
// its kt tune knows the settings and their values, and has a journal of the old ones.
type TuneOrder struct {
	Do    TuneDo        `json:"do"`
	Study string        `json:"study"`         // whose changes they are
	Set   []HostSetting `json:"set,omitempty"` // all that is to be changed; what the study changed before is put back
	Own   []HostSetting `json:"own,omitempty"` // all that the study ever changes
}

// TuneDo is what a TuneOrder asks for.
type TuneDo string

// The orders. After a Restore another study may change the host.
const (
	TuneCheck   TuneDo = "check" // whether Set could be changed; nothing is
	TuneSet     TuneDo = "set"
	TuneRestore TuneDo = "restore"
)

func (o *TuneOrder) check() error {
	switch o.Do {
	case TuneCheck, TuneSet, TuneRestore:
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

// tune does what a TuneOrder asks for, one after the other.
func (a *agent) tune(r *http.Request) (any, error) {
	o := new(TuneOrder)
	if err := a.read(r, maxOffer, o); err != nil {
		return nil, err
	}
	err := errNoTune
	if a.o.Tune != nil {
		a.tuning.Lock()
		err = a.o.Tune(r.Context(), o)
		a.tuning.Unlock()
	}
	if o.Do != TuneCheck || err != nil {
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
func (c *Client) Tune(ctx context.Context, to Peer, o TuneOrder) error {
	err := to.Err // it has the name
	if err == nil {
		err = c.tune(ctx, to, o)
	}
	var said *agentError
	if err == nil || errors.As(err, &said) || o.Do == TuneCheck {
		return err
	}
	return fmt.Errorf("%w; start the agent there again with --allow-tune, or run kt tune --rollback there", err)
}

func (c *Client) tune(ctx context.Context, to Peer, o TuneOrder) error {
	ctx, cancel := context.WithTimeout(ctx, tuneTimeout)
	defer cancel()
	if err := c.call(ctx, http.MethodPost, to.Addr, "/v1/tune", &o, new(nothing)); err != nil {
		return fmt.Errorf("%s: %w", to.Name, unanswered(err, tuneTimeout))
	}
	return nil
}
