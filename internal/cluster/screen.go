package cluster

import (
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/merge"
	"github.com/kt-bench/kt/internal/run"
)

// show passes every complete second on to the observer. While there is none, the observer gets
// the state of the hosts once a second.
func (s *session) show(final bool) {
	if s.opts.Observe == nil {
		return
	}
	elapsed := s.elapsed()
	if final {
		elapsed = merge.Over
	}
	shown := false
	for s.stage >= stepRunning {
		var second merge.Second
		ok := false
		if s.live.do(func(l *merge.Live) { second, ok = l.Next(elapsed) }); !ok {
			break
		}
		s.send(second)
		shown = true
		if second.Broken != "" && s.stage == stepRunning && !s.end.stopped {
			s.end.broken = second.Broken
			s.stopLoad()
		}
	}
	if final || !shown && time.Since(s.sent) >= time.Second {
		var now merge.Second
		s.live.do(func(l *merge.Live) { now = l.Now() })
		s.send(now)
	}
}

// steps maps the steps of a session to the stages of a snapshot.
var steps = map[step]result.Stage{
	stepLobby: result.Gathering, stepPreparing: result.Preparing, stepStarting: result.Preparing,
	stepRunning: result.Running, stepCollecting: result.Draining, stepUndoing: result.Preparing, stepFinished: result.Finished,
}

// send gives the observer the state of the run with a second of the load.
func (s *session) send(of merge.Second) {
	s.sent = time.Now()
	live := result.Live{Stage: steps[s.stage]}
	for _, r := range s.hosts {
		for i := range r.state.Parts {
			p := &r.state.Parts[i]
			if (p.State == partRunning || p.State == partDraining) && r.state.Contact != contactLost {
				live.Buffered += p.Load.Buffered
				live.InFlight += p.Load.InFlight
			}
		}
	}
	if of.Sample.Interval == 0 { // nothing was sampled
		of.Sample = of.Snapshot.Sample
		of.Sample.Interval = 0
	}
	t := run.Second{Windows: of.Windows, Sample: of.Sample, Snapshot: of.Snapshot, StartsIn: max(0, -s.elapsed())}
	t.Snapshot.Live = live
	for _, r := range s.hosts {
		now := of.Hosts[r.peer.Name]
		t.Hosts = append(t.Hosts, run.Host{
			Name: r.peer.Name, Processes: len(r.state.Parts), State: r.state.word(s.stage == stepFinished), Snapshot: now.Snapshot, Vitals: now.Vitals,
			Offset: r.clocks.best.offset, Bound: r.clocks.best.bound(), Seen: r.state.silence(time.Now()), Until: r.state.Until,
			Note: r.state.note(r.clocks.moved(r.clocks.best)),
		})
	}
	s.opts.Observe(t)
}
