package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/kt-bench/kt/internal/theme"
)

// Times of a stream on an agent.
const (
	helloTimeout = 10 * time.Second
	// A silent coordinator counts as gone after this time, although TCP may notice later: during
	// a run it sends a ping every second.
	idleTimeout = 30 * time.Second
)

// talk is one stream that a coordinator opened.
type talk struct {
	a   *agent
	s   stream
	run *hostRun // the run of this stream; nil: none

	reading   *os.File // the run file that was read last
	readingID string
}

// handle serves one stream until it ends.
func (a *agent) handle(ctx context.Context, s stream) {
	defer func() { _ = s.Close() }() // every answer was sent
	t := &talk{a: a, s: s}
	defer t.close()
	if !t.greet(ctx) {
		return
	}
	for {
		waiting, cancel := context.WithTimeout(ctx, idleTimeout)
		typ, b, err := s.Receive(waiting)
		cancel()
		if err != nil {
			return
		}
		received := a.o.Now()
		var m *toAgent
		if b, err = unpack(typ, b, largeToAgent); err == nil {
			m, err = decodeToAgent(b)
		}
		if err != nil {
			_ = t.refuse(ctx, "", fmt.Errorf("%w; its kt is %s", err, a.o.Info.Version)) // the stream ends anyway
			a.o.Log(fmt.Sprintf("%v sent an invalid message: %s", s.RemoteAddr(), clean(err.Error(), 300)))
			return
		}
		if err := t.answer(ctx, m, received); err != nil {
			return
		}
	}
}

// greet exchanges versions and reports whether they are the same.
func (t *talk) greet(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	_, b, err := t.s.Receive(ctx)
	if err != nil {
		return false
	}
	h, err := decodeHello(b)
	if err != nil {
		return false
	}
	err = send(ctx, t.s, fromAgent{Welcome: &hello{Protocol: Protocol, Info: t.a.o.Info}})
	return err == nil && h.Protocol == Protocol
}

func (t *talk) close() {
	if t.run != nil {
		t.run.detach(t)
	}
	if t.reading != nil {
		_ = t.reading.Close() // it was only read from
	}
}

// refuse sends the reason for a refusal. It returns an error only if the stream fails.
func (t *talk) refuse(ctx context.Context, epoch string, why error) error {
	return send(ctx, t.s, fromAgent{Refused: &refused{Epoch: epoch, Text: clean(why.Error(), maxText)}})
}

// refuseUnknown refuses a message about a run that this agent does not know. It tells the
// coordinator whether orphans are at work on it.
func (t *talk) refuseUnknown(ctx context.Context, epoch, why string) error {
	return send(ctx, t.s, fromAgent{Refused: &refused{Epoch: epoch, Text: why, AtWork: t.a.store.atWork(epoch)}})
}

// answer handles one message. An error ends the stream.
func (t *talk) answer(ctx context.Context, m *toAgent, received time.Time) error {
	switch {
	case m.Ping != nil:
		return send(ctx, t.s, fromAgent{Pong: &pong{Number: m.Ping.Number, Received: received.UTC(), Sent: t.a.o.Now().UTC()}})
	case m.Look != nil:
		return send(ctx, t.s, fromAgent{Looked: t.a.look(ctx)})
	case m.Offer != nil:
		return t.offer(ctx, m.Offer)
	case m.Resume != nil:
		return t.resume(ctx, m.Resume.Epoch)
	case m.Open != nil:
		return t.withRun(ctx, m.Open.Epoch, func(r *hostRun) error { return r.open(m.Open.Processes) })
	case m.Start != nil:
		return t.withRun(ctx, m.Start.Epoch, func(r *hostRun) error { return r.begin(m.Start.Order) })
	case m.Order != nil:
		return t.withRun(ctx, m.Order.Epoch, func(r *hostRun) error { r.obey(m.Order.Do, m.Order.Why); return nil })
	case m.Files != nil:
		found, err := t.a.store.list(ctx, m.Files.Run)
		return t.orProblem(ctx, fromAgent{Files: &found}, err)
	case m.Read != nil:
		return t.chunk(ctx, m.Read)
	case m.Tune != nil:
		return t.tune(ctx, m.Tune)
	}
	return errors.New("a second hello")
}

func (t *talk) offer(ctx context.Context, o *offer) error {
	if t.run != nil {
		return t.refuse(ctx, o.Part.Epoch, errors.New("this stream is about another run"))
	}
	r, err := t.a.accept(o)
	if err != nil {
		t.a.o.Log(fmt.Sprintf("refused run %s of %v: %s", o.Part.Run, t.s.RemoteAddr(), clean(err.Error(), 300)))
		return t.refuse(ctx, o.Part.Epoch, err)
	}
	t.a.o.Log(fmt.Sprintf("run %s: accepted from %v, %s", o.Part.Run, t.s.RemoteAddr(), theme.Plural(len(o.Shares), "process", "processes")))
	t.a.announce()
	t.run = r
	if err := send(ctx, t.s, fromAgent{Accepted: &inRun{o.Part.Epoch}}); err != nil {
		return err
	}
	r.attach(ctx, t)
	return nil
}

// resume continues a run on this stream after its earlier stream broke.
func (t *talk) resume(ctx context.Context, epoch string) error {
	r := t.a.find(epoch)
	if r == nil || t.run != nil {
		return t.refuseUnknown(ctx, epoch, "the run is not known here")
	}
	t.run = r
	if err := send(ctx, t.s, fromAgent{Accepted: &inRun{epoch}}); err != nil {
		return err
	}
	r.attach(ctx, t)
	return nil
}

// withRun calls do with the run of this stream. It refuses messages with another run's epoch.
func (t *talk) withRun(ctx context.Context, epoch string, do func(*hostRun) error) error {
	if t.run == nil || t.run.epoch != epoch {
		return t.refuseUnknown(ctx, epoch, "the run is not known on this stream")
	}
	if err := do(t.run); err != nil {
		return t.refuse(ctx, epoch, err)
	}
	return nil
}

// chunk sends a chunk of a run file.
func (t *talk) chunk(ctx context.Context, c *chunkAsked) error {
	if t.readingID != c.RunID {
		f, err := t.a.store.find(c.RunID)
		if err != nil {
			return t.orProblem(ctx, fromAgent{}, err)
		}
		if t.reading != nil {
			_ = t.reading.Close() // it was only read from
		}
		t.reading, t.readingID = f, c.RunID
	}
	b, err := chunkOf(t.reading, c)
	if err != nil {
		return t.orProblem(ctx, fromAgent{}, err)
	}
	return t.s.Send(ctx, frameChunk, b)
}

// orProblem sends m, or a Problem if err is not nil.
func (t *talk) orProblem(ctx context.Context, m fromAgent, err error) error {
	if err != nil {
		text := clean(err.Error(), maxText)
		m = fromAgent{Problem: &text}
	}
	return send(ctx, t.s, m)
}
