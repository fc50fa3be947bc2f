package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/cluster/gossip"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
)

// Bounds of what the bodies of docs/agent-api.md may contain, far above the needs of a load.
const (
	maxProcesses  = 256                        // of a host in a run
	maxHosts      = 1000                       // of a run
	maxMembers    = 2 * maxHosts               // of a network, each of which a client asks
	maxText       = 4096                       // bytes of any text
	maxWord       = 256                        // bytes of a text that stands in a table
	maxFiles      = 20_000                     // of other commands
	maxListed     = 2000                       // of a listing, which is one answer
	maxRunFile    = int64(1) << 40             // bytes
	maxRunTime    = 30 * 24 * time.Hour        // of a run
	maxLine       = 64 << 20                   // bytes of a line of a run file
	maxClockError = 100 * 365 * 24 * time.Hour // difference of two clocks; a Duration holds 292 years
)

// clockEcho is the answer of GET /v1/clock, and a part of others, by the agent's clock.
type clockEcho struct {
	Received time.Time `json:"received"`
	Sent     time.Time `json:"sent"`
}

// agentState is the answer of GET /v1/state.
type agentState struct {
	Use
	Run     string          `json:"run,omitempty"` // the name of its current run
	Results int             `json:"results"`
	Members []gossip.Member `json:"members,omitempty"`
}

// offer is the body of PUT /v1/runs/{epoch}: it asks one host to make its share of a load, or to watch its machine.
type offer struct {
	Job
	Loads  []Job         `json:"loads,omitempty"`    // of a workload: each has its name, roster and limits in its part; none: the job is the one load
	Shares []jobShare    `json:"shares,omitempty"`   // one for each process; none: the host is only watched
	Lasts  time.Duration `json:"lasts_ns,omitempty"` // the longest duration of the load; 0: unknown
}

// jobShare is the part of a job that differs by process. The processes are numbered from 1 in the order of the shares.
type jobShare struct {
	Producers   int        `json:"producers"`
	Consumers   int        `json:"consumers"`
	Share       plan.Share `json:"share"`
	CreateTopic bool       `json:"create_topic,omitempty"`
	Load        int        `json:"load,omitempty"` // its number among the loads, from 0
}

// loads returns an offer of each load.
func (o *offer) loads() (all []*offer) {
	for k, j := range o.Loads {
		own := j.Part
		j.Part = o.Part
		j.Part.Load, j.Part.Roster, j.Part.Limits, j.Part.Asked = own.Load, own.Roster, own.Limits, own.Asked
		others := func(s jobShare) bool { return s.Load != k }
		all = append(all, &offer{Job: j, Shares: slices.DeleteFunc(slices.Clone(o.Shares), others)})
	}
	if len(all) == 0 {
		return []*offer{o}
	}
	return all
}

// jobs returns the jobs of the host, in the order of their processes.
func (o *offer) jobs() []Job {
	var jobs []Job
	for _, l := range o.loads() {
		for _, s := range l.Shares {
			j := l.Job
			j.Part.Process, j.CreateTopic = len(jobs)+1, s.CreateTopic
			j.Plan.Producers, j.Plan.Read.Consumers, j.Plan.Share = s.Producers, s.Consumers, s.Share
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// order is the body of POST /v1/runs/{epoch}. A part of it that was carried out before has no effect.
type order struct {
	Open    int         `json:"open,omitempty"`    // start so many processes, from the first one: they connect to the brokers
	Start   *StartOrder `json:"start,omitempty"`   // begin the load at a moment
	Stop    bool        `json:"stop,omitempty"`    // end the load, and wait for what was sent
	Why     string      `json:"why,omitempty"`     // with Stop: the condition of --abort-on that came true; "": none did
	Abort   bool        `json:"abort,omitempty"`   // end the load at once
	Cancel  bool        `json:"cancel,omitempty"`  // before the start: leave nothing behind
	Drained bool        `json:"drained,omitempty"` // the load of all hosts is over: stop watching, complete the run files
	Finish  bool        `json:"finish,omitempty"`  // all files are collected: end the run
}

// and returns the order with another one in addition. The preparation goes step by step, and what ends a run stays.
func (o order) and(more order) order {
	return order{
		Open: more.Open, Start: more.Start, Why: cmp.Or(o.Why, more.Why), Stop: o.Stop || more.Stop, Abort: o.Abort || more.Abort,
		Cancel: o.Cancel || more.Cancel, Drained: o.Drained || more.Drained, Finish: o.Finish || more.Finish,
	}
}

// stops reports whether the order ends a load.
func (o *order) stops() bool { return o.Stop || o.Abort || o.Cancel }

// nothing is the answer to a request that only has an effect.
type nothing struct{}

// stage is the progress of a run on its host.
type stage int

const (
	stageNone     stage = iota // the offer was not answered
	stageOffered               // accepted; no process was started
	stageOpening               // processes connect to the brokers
	stageStarting              // the start is agreed
	stageRunning               // the load has begun
	stageSettled               // the load of this host is over
	stageWritten               // the load of all hosts is over, and the run files are complete
	stageEnding                // the processes end
	stageUndoing               // the preparation is being undone
	stageOver                  // only the files of the run are left
)

var stageNames = []string{"", "offered", "opening", "starting", "running", "settled", "written", "ending", "undoing", "over"}

func (s stage) String() string { return stageNames[s] }

func (s stage) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func (s *stage) UnmarshalText(text []byte) error {
	at := slices.Index(stageNames, string(text))
	if at < int(stageOffered) {
		return fmt.Errorf("no run is %q", clean(string(text), 64))
	}
	*s = stage(at)
	return nil
}

// partState is the progress of a process.
type partState string

const (
	partWaiting  partState = "waiting" // its job was accepted
	partOpening  partState = "opening"
	partReady    partState = "ready"
	partRunning  partState = "running"
	partDraining partState = "draining" // it waits for the outcome of its records
	partDone     partState = "done"
	partFailed   partState = "failed"  // before the start
	partGone     partState = "gone"    // died without reporting its end
	partUnheard  partState = "unheard" // it has ended, and no agent reported how; only a coordinator says so
)

// settled reports whether the state is final for the load of the process.
func (s partState) settled() bool {
	return s == partDone || s == partFailed || s == partGone || s == partUnheard
}

// runStatus is the answer of GET /v1/runs/{epoch}.
type runStatus struct {
	Version int          `json:"version"`
	Stage   stage        `json:"stage"`
	Parts   []partStatus `json:"processes,omitempty"`         // in the order of their numbers
	Vitals  string       `json:"vitals_run_id,omitempty"`     // of the file with the host's vitals; "": there is none
	Problem string       `json:"vitals_incomplete,omitempty"` // the error of that file, or ""
	Clock   clockEcho    `json:"clock"`
}

// partStatus is the state of a process.
type partStatus struct {
	State partState `json:"state"`
	RunID string    `json:"run_id,omitempty"` // of its run file; "": it has none yet
	Ended *Ended    `json:"ended,omitempty"`
	Text  string    `json:"text,omitempty"` // the reason of a failure
	Load  Load      `json:"load,omitzero"`  // as the process reported last
}

// fileEntry is a run file at the time of a listing. A file that is still being written only gets longer.
type fileEntry struct {
	RunID   string `json:"run_id"`
	Run     string `json:"run"`
	Epoch   string `json:"epoch,omitempty"`
	Host    string `json:"host"`
	Process int    `json:"process"`
	Bytes   int64  `json:"bytes"`
	AtWork  bool   `json:"at_work,omitempty"` // a process is writing it
}

// filesFound is the answer of GET /v1/runs/{run}/files.
type filesFound struct {
	Files []fileEntry `json:"files,omitempty"`
}

// runsFound is the answer of GET /v1/runs.
type runsFound struct {
	Runs []string `json:"runs"` // names
}

// problem is the body of every answer that is an error.
type problem struct {
	Error string `json:"error"` // for people

	// AtWork is set if the agent does not know the run, and processes of an earlier agent still make its load.
	AtWork bool `json:"at_work,omitempty"`
}

// checked is a body whose check keeps paths, escape sequences and numbers out of range away.
type checked interface{ check() error }

func (*nothing) check() error { return nil }

// check returns an error if the offer is malformed. Limits decide whether the agent accepts it.
func (o *offer) check() error {
	p := &o.Part
	errs := []error{checkName(p.Run), checkName(p.Epoch), checkName(p.Host)}
	for _, j := range slices.Concat(o.Loads, []Job{o.Job}) {
		errs = append(errs, checkID(j.Part.Load), plan.CheckTags(j.Tags), result.CheckAccepted(j.Accepted))
		for _, m := range j.Part.Roster {
			errs = append(errs, checkName(m.Host))
			if m.Processes < 0 || m.Processes > maxProcesses || m.Before < 0 || m.Before > maxProcesses {
				errs = append(errs, fmt.Errorf("host %s has %d processes", clean(m.Host, 64), m.Processes))
			}
		}
	}
	if len(o.Loads) > maxProcesses || slices.ContainsFunc(o.Shares, func(s jobShare) bool { return s.Load < 0 || s.Load >= max(1, len(o.Loads)) }) {
		errs = append(errs, errors.New("a share is of no load"))
	}
	switch {
	case p.Process != 0 || o.CreateTopic:
		errs = append(errs, fmt.Errorf("it is for process %d and not for a host", p.Process))
	case len(o.Shares) > maxProcesses:
		errs = append(errs, fmt.Errorf("it is for %d processes, and %d are the most", len(o.Shares), maxProcesses))
	case o.Lasts < 0 || o.Lasts > maxRunTime:
		errs = append(errs, fmt.Errorf("it lasts %v", o.Lasts))
	}
	return errors.Join(errs...)
}

func (o *order) check() error {
	cleanTexts(o, maxText)
	s := o.Start
	if s == nil {
		return nil
	}
	if a := s.Agreed; a.Late != 0 || a.Bound < 0 || a.Bound > time.Hour || a.Offset < -maxClockError || a.Offset > maxClockError {
		return fmt.Errorf("the agreed start %+v is none", a)
	}
	if !plausible(s.At) || !plausible(s.Agreed.At) {
		return errors.New("its start is out of range")
	}
	return nil
}

// plausible reports whether a time can be encoded as JSON and subtracted from others.
func plausible(t time.Time) bool { return t.Year() >= 1990 && t.Year() < 2200 }

func (c *clockEcho) check() error {
	if !plausible(c.Received) || !plausible(c.Sent) {
		return errors.New("its clock is out of range")
	}
	return nil
}

// identity is the answer of GET /v1/.
type identity struct{ Info }

func (i *identity) check() error {
	cleanTexts(i, maxWord)
	if err := checkName(i.Name); err != nil {
		return fmt.Errorf("its name: %w", err)
	}
	return nil
}

func (l *agentState) check() error {
	cleanTexts(l, maxWord)
	if n := len(l.Members); n > maxMembers {
		return fmt.Errorf("it knows %d agents, and %d are the most", n, maxMembers)
	}
	return nil
}

func (s *runStatus) check() error {
	cleanTexts(s, maxText)
	errs := []error{s.Clock.check(), checkID(s.Vitals)}
	for _, p := range s.Parts {
		errs = append(errs, checkID(p.RunID))
		if _, moves := moves[p.State]; !moves && p.State != partWaiting && (!p.State.settled() || p.State == partUnheard) {
			errs = append(errs, fmt.Errorf("no process is %q", p.State))
		}
	}
	return errors.Join(errs...)
}

// checkID returns an error unless a run id is a name or "".
func checkID(id string) error {
	if id == "" {
		return nil
	}
	return checkName(id)
}

func (f *filesFound) check() error {
	for _, e := range f.Files {
		if e.Process < 0 || e.Bytes < 1 || e.Bytes > maxRunFile {
			return fmt.Errorf("file %s is out of range", clean(e.RunID, 64))
		}
		if err := e.checkNames(); err != nil {
			return err
		}
	}
	return nil
}

func (e *fileEntry) checkNames() error {
	return errors.Join(checkName(e.RunID), checkName(e.Run), checkName(e.Host), checkID(e.Epoch))
}

func (r *runsFound) check() error {
	cleanTexts(r, maxWord)
	return nil
}

func (p *problem) check() error {
	cleanTexts(p, maxText)
	return nil
}
