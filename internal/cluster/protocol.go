package cluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
)

// Protocol is the version of what coordinators and agents say to each other. Both must
// have the same.
const Protocol = 1

// The kinds of messages on a stream.
const (
	frameJSON   = 1 // a toAgent or a fromAgent
	frameChunk  = 2 // bytes of a run file, as the read before asked for
	framePacked = 3 // the same as frameJSON, compressed by deflate
)

// The most that a peer may ask for at once. They are far above what a load needs, and
// keep what a message can make an agent do small.
const (
	maxProcesses  = 256  // of one host in one run
	maxHosts      = 1000 // in one run
	maxBootstrap  = 100
	maxProperties = 500
	maxArgs       = 1000
	maxTags       = 32
	maxText       = 4096 // bytes of any text
	maxArgsBytes  = 64 << 10
	maxFiles      = 20_000                     // in one listing
	chunkBytes    = 256 << 10                  // of a run file at a time
	maxRunFile    = int64(1) << 40             // bytes
	maxRunTime    = 30 * 24 * time.Hour        // of a run
	maxWindows    = 8                          // in a second: warm-up and measured, and room
	maxHeader     = 512 << 10                  // bytes of a run file's header on its way
	maxLine       = 64 << 20                   // bytes of what a process says in one line, as of a run file
	maxClockError = 100 * 365 * 24 * time.Hour // between two clocks: what a Duration holds, with room
)

// toAgent is what a coordinator says to an agent. Exactly one field is set.
type toAgent struct {
	Hello  *hello      `json:"hello,omitempty"` // the first, once
	Ping   *ping       `json:"ping,omitempty"`
	Look   *nothing    `json:"look,omitempty"` // how busy are you, and whom do you know
	Offer  *offer      `json:"offer,omitempty"`
	Open   *open       `json:"open,omitempty"`
	Start  *startRun   `json:"start,omitempty"`
	Order  *order      `json:"order,omitempty"`
	Resume *inRun      `json:"resume,omitempty"` // this stream takes the place of one that broke
	Files  *filesAsked `json:"files,omitempty"`
	Read   *chunkAsked `json:"read,omitempty"`
}

// fromAgent is what an agent answers, and tells of a run by itself. Exactly one field is
// set.
type fromAgent struct {
	Welcome  *hello      `json:"welcome,omitempty"`
	Pong     *pong       `json:"pong,omitempty"`
	Looked   *looked     `json:"looked,omitempty"`
	Accepted *inRun      `json:"accepted,omitempty"`
	Refused  *refused    `json:"refused,omitempty"` // the offer, or whatever names a run that is not there
	Part     *partStatus `json:"part,omitempty"`
	Starting *inRun      `json:"starting,omitempty"` // the start was taken over
	Second   *partSecond `json:"second,omitempty"`
	Vitals   *hostVitals `json:"vitals,omitempty"`
	Written  *written    `json:"written,omitempty"` // all run files of the run are
	Ended    *inRun      `json:"ended,omitempty"`   // nothing of the run is left but its files
	Files    *filesFound `json:"files,omitempty"`
	Problem  *string     `json:"problem,omitempty"` // of a Files or Read: why there is none
}

type nothing struct{}

// hello is how both sides begin. It is the one message that is read with unknown fields,
// so that versions can tell each other what they are.
type hello struct {
	Protocol int `json:"protocol"`
	Info
}

type ping struct {
	Number int `json:"number"`
}

type pong struct {
	Number   int       `json:"number"`
	Received time.Time `json:"received"` // by the agent's clock
	Sent     time.Time `json:"sent"`
}

// looked is what an agent tells of itself.
type looked struct {
	CPU     float64  `json:"cpu_cores"` // in use now
	Cores   float64  `json:"cores"`
	Memory  int64    `json:"memory_bytes"`
	Free    int64    `json:"available_bytes"`
	Run     string   `json:"run,omitempty"` // busy with
	Results int      `json:"results"`
	Members []member `json:"members,omitempty"` // of its gossip
}

// member is another agent, as gossip knows it.
type member struct {
	Name  string   `json:"name"`
	Role  string   `json:"role,omitempty"`
	Tags  []string `json:"tags,omitempty"`
	Addr  string   `json:"address"`
	State string   `json:"state"`
}

// inRun names a run by its epoch.
type inRun struct {
	Epoch string `json:"epoch"`
}

// offer is what one host is asked to do. Its jobs are those of one plan, so what they
// share travels once.
type offer struct {
	Part     result.Part           `json:"part"` // with Process 0
	Plan     plan.Plan             `json:"plan"` // the whole load
	Producer map[string]plan.Given `json:"producer_properties,omitempty"`
	Consumer map[string]plan.Given `json:"consumer_properties,omitempty"`
	Args     []string              `json:"command_line"`
	Shares   []jobShare            `json:"shares,omitempty"`   // one a process; none: the host is only watched
	Lasts    time.Duration         `json:"lasts_ns,omitempty"` // how long the load lasts at most; 0: nobody knows
}

// jobShare is what the job of one process has of its own. Processes are numbered from 1,
// in this order.
type jobShare struct {
	Producers   int        `json:"producers"`
	Consumers   int        `json:"consumers"`
	Share       plan.Share `json:"share"`
	CreateTopic bool       `json:"create_topic,omitempty"`
}

// jobs returns the jobs of the host, in the order of their processes.
func (o *offer) jobs() []Job {
	var jobs []Job
	for i, s := range o.Shares {
		j := Job{Part: o.Part, Plan: o.Plan, Producer: o.Producer, Consumer: o.Consumer, Args: o.Args, CreateTopic: s.CreateTopic}
		j.Part.Process = i + 1
		j.Plan.Producers, j.Plan.Read.Consumers, j.Plan.Share = s.Producers, s.Consumers, s.Share
		jobs = append(jobs, j)
	}
	return jobs
}

// open lets processes connect to the brokers.
type open struct {
	Epoch     string `json:"epoch"`
	Processes []int  `json:"processes,omitempty"` // empty: all that are not open yet
}

type startRun struct {
	Epoch string     `json:"epoch"`
	Order StartOrder `json:"order"` // At is by the agent's clock
}

// order is a word to the processes of a run, or about it.
type order struct {
	Epoch string `json:"epoch"`
	Do    string `json:"do"`
}

// The orders. Each may be given again, and then does nothing.
const (
	doCancel  = "cancel"  // before the start: leave nothing behind
	doStop    = "stop"    // drain and finish
	doAbort   = "abort"   // leave at once
	doDrained = "drained" // all processes of all hosts have finished: no need to watch any longer
	doFinish  = "finish"  // all is collected
)

type refused struct {
	Epoch string `json:"epoch,omitempty"`
	Text  string `json:"text"` // for people

	// AtWork, of a run that the agent does not know: processes that an agent before it has
	// started are making its load still.
	AtWork bool `json:"at_work,omitempty"`
}

// partState is how far a process is.
type partState string

const (
	partWaiting partState = "waiting" // its job was accepted
	partOpening partState = "opening"
	partReady   partState = "ready"
	partRunning partState = "running"
	partDone    partState = "done"
	partFailed  partState = "failed" // before the start: there will be no load
	partGone    partState = "gone"   // it died
)

// settled reports whether the process has nothing more to say of its load.
func (s partState) settled() bool { return s == partDone || s == partFailed || s == partGone }

// partStatus is told whenever it changes, and again to a coordinator that comes back.
type partStatus struct {
	Epoch   string         `json:"epoch"`
	Process int            `json:"process"`
	State   partState      `json:"state"`
	Header  *result.Header `json:"header,omitempty"` // of its run file; nil: not ready yet, or larger than maxHeader
	Start   *result.Start  `json:"start,omitempty"`
	Ended   *Ended         `json:"ended,omitempty"`
	Text    string         `json:"text,omitempty"` // why it failed or died
}

type partSecond struct {
	Epoch   string `json:"epoch"`
	Process int    `json:"process"`
	Second  Second `json:"second"`
}

type hostVitals struct {
	Epoch  string      `json:"epoch"`
	Vitals host.Vitals `json:"vitals"`
	Passed int         `json:"passed_over,omitempty"` // seconds that this stream was too slow for, so far; the run files have them
}

type written struct {
	Epoch string `json:"epoch"`
	Text  string `json:"text,omitempty"` // what is wrong with the file of what was watched
}

type filesAsked struct {
	Run string `json:"run"` // its name or epoch; "": which there are
}

// filesFound are the run files of a run, or the runs that there are.
type filesFound struct {
	Files  []fileEntry `json:"files,omitempty"`
	Runs   []string    `json:"runs,omitempty"`   // names
	Unread int         `json:"unread,omitempty"` // files that are no run files, or could not be read
}

// fileEntry is one run file as it was when it was listed. One that is still being
// written only gets longer.
type fileEntry struct {
	RunID   string `json:"run_id"`
	Run     string `json:"run"`
	Epoch   string `json:"epoch,omitempty"`
	Host    string `json:"host"`
	Process int    `json:"process"`
	Bytes   int64  `json:"bytes"`
	SHA256  string `json:"sha256"`
	AtWork  bool   `json:"at_work,omitempty"` // a process is writing it
}

// chunkAsked is answered by a chunk: at most chunkBytes of the file from Offset on, and
// none behind Bytes.
type chunkAsked struct {
	RunID  string `json:"run_id"`
	Bytes  int64  `json:"bytes"` // of the file as it was listed
	Offset int64  `json:"offset"`
}

// decodeStrict reads one JSON value into v and refuses fields that v has not: what
// neither side knows cannot be meant well.
func decodeStrict(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the message")
	}
	return nil
}

// errProtocol is a message that no kt of this version sends.
var errProtocol = errors.New("it is no message of this kt")

func decodeToAgent(b []byte) (*toAgent, error) {
	m := new(toAgent)
	if err := decodeStrict(b, m); err != nil {
		return nil, fmt.Errorf("%w: %w", errProtocol, err)
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", errProtocol, err)
	}
	return m, nil
}

func decodeFromAgent(b []byte) (*fromAgent, error) {
	m := new(fromAgent)
	if err := decodeStrict(b, m); err != nil {
		return nil, fmt.Errorf("%w: %w", errProtocol, err)
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", errProtocol, err)
	}
	return m, nil
}

// decodeHello reads how the other side begins: its version, whatever else it says.
func decodeHello(b []byte) (hello, error) {
	if len(b) > maxMessage {
		return hello{}, fmt.Errorf("%w: it is longer than %d bytes", errProtocol, maxMessage)
	}
	var m struct {
		Hello   *hello `json:"hello"`
		Welcome *hello `json:"welcome"`
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return hello{}, fmt.Errorf("%w: %w", errProtocol, err)
	}
	h := m.Hello
	if h == nil {
		h = m.Welcome
	}
	if h == nil {
		return hello{}, fmt.Errorf("%w: it does not begin with a hello", errProtocol)
	}
	h.Info = h.clean()
	return *h, nil
}
