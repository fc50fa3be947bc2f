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

// Protocol is the version of the messages. Coordinator and agents must have the same.
const Protocol = 1

// The kinds of messages on a stream.
const (
	frameJSON   = 1 // a toAgent or a fromAgent
	frameChunk  = 2 // bytes of a run file, the answer to a Read
	framePacked = 3 // as frameJSON, compressed by deflate
)

// Bounds of what a message may contain, far above the needs of a load.
const (
	maxProcesses  = 256  // of a host in a run
	maxHosts      = 1000 // of a run
	maxBootstrap  = 100
	maxProperties = 500
	maxArgs       = 1000
	maxTags       = 32
	maxSettings   = 100  // of a host, in one order
	maxText       = 4096 // bytes of any text
	maxArgsBytes  = 64 << 10
	maxFiles      = 20_000                     // of a listing
	chunkBytes    = 256 << 10                  // of a run file
	maxRunFile    = int64(1) << 40             // bytes
	maxRunTime    = 30 * 24 * time.Hour        // of a run
	maxWindows    = 8                          // of a second: warm-up and measured, with slack
	maxHeader     = 512 << 10                  // bytes of a run file's header in a message
	maxLine       = 64 << 20                   // bytes of a line of a process or a run file
	maxClockError = 100 * 365 * 24 * time.Hour // difference of two clocks; a Duration holds 292 years
)

// toAgent is a message of a coordinator to an agent. Exactly one field is set.
type toAgent struct {
	Hello  *hello      `json:"hello,omitempty"` // the first message, once
	Ping   *ping       `json:"ping,omitempty"`
	Look   *nothing    `json:"look,omitempty"` // asks for the load of the host and its members
	Offer  *offer      `json:"offer,omitempty"`
	Open   *open       `json:"open,omitempty"`
	Start  *startRun   `json:"start,omitempty"`
	Order  *order      `json:"order,omitempty"`
	Resume *inRun      `json:"resume,omitempty"` // this stream continues a run whose stream broke
	Files  *filesAsked `json:"files,omitempty"`
	Read   *chunkAsked `json:"read,omitempty"`
	Tune   *TuneOrder  `json:"tune,omitempty"`
}

// fromAgent is an answer of an agent, or a report about a run. Exactly one field is set.
type fromAgent struct {
	Welcome  *hello      `json:"welcome,omitempty"`
	Pong     *pong       `json:"pong,omitempty"`
	Looked   *looked     `json:"looked,omitempty"`
	Accepted *inRun      `json:"accepted,omitempty"`
	Refused  *refused    `json:"refused,omitempty"` // an offer, or a message about an unknown run
	Part     *partStatus `json:"part,omitempty"`
	Starting *inRun      `json:"starting,omitempty"` // confirms a Start
	Second   *partSecond `json:"second,omitempty"`
	Vitals   *hostVitals `json:"vitals,omitempty"`
	Written  *written    `json:"written,omitempty"` // all run files are complete
	Ended    *inRun      `json:"ended,omitempty"`   // the run is over: only its files are left
	Files    *filesFound `json:"files,omitempty"`
	Tuned    *nothing    `json:"tuned,omitempty"`
	Problem  *string     `json:"problem,omitempty"` // the error of a Files, a Read or a Tune
}

type nothing struct{}

// hello is the first message of both sides. It alone may have unknown fields, so that kts of
// different versions can tell each other their versions.
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

// looked is the answer to a Look.
type looked struct {
	CPU     float64  `json:"cpu_cores"` // in use now
	Cores   float64  `json:"cores"`
	Memory  int64    `json:"memory_bytes"`
	Free    int64    `json:"available_bytes"`
	Run     string   `json:"run,omitempty"` // the name of its current run
	Results int      `json:"results"`
	Members []member `json:"members,omitempty"` // of its gossip
}

// member is an agent in the gossip.
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

// offer is the request to one host to make its share of a load, or to watch its machine. The
// common parts of its jobs are in it once.
type offer struct {
	Part     result.Part           `json:"part"` // with Process 0
	Plan     plan.Plan             `json:"plan"` // the whole load
	Producer map[string]plan.Given `json:"producer_properties,omitempty"`
	Consumer map[string]plan.Given `json:"consumer_properties,omitempty"`
	Args     []string              `json:"command_line"`
	Tags     []string              `json:"tags,omitempty"`     // of the run
	Shares   []jobShare            `json:"shares,omitempty"`   // one for each process; none: the host is only watched
	Lasts    time.Duration         `json:"lasts_ns,omitempty"` // the longest duration of the load; 0: unknown
}

// jobShare is the part of a job that differs by process. The processes are numbered from 1 in
// the order of the shares.
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
		j := Job{Part: o.Part, Plan: o.Plan, Producer: o.Producer, Consumer: o.Consumer, Args: o.Args, Tags: o.Tags, CreateTopic: s.CreateTopic}
		j.Part.Process = i + 1
		j.Plan.Producers, j.Plan.Read.Consumers, j.Plan.Share = s.Producers, s.Consumers, s.Share
		jobs = append(jobs, j)
	}
	return jobs
}

// open tells processes to connect to the brokers.
type open struct {
	Epoch     string `json:"epoch"`
	Processes []int  `json:"processes,omitempty"` // empty: all that are not open yet
}

type startRun struct {
	Epoch string     `json:"epoch"`
	Order StartOrder `json:"order"` // At is by the agent's clock
}

// order ends a run, or the load of its processes.
type order struct {
	Epoch string `json:"epoch"`
	Do    string `json:"do"`
	Why   string `json:"why,omitempty"` // of doStop: the condition of --abort-on that came true; "": none did
}

// The orders. An order that is repeated has no effect.
const (
	doCancel  = "cancel"  // before the start: leave nothing behind
	doStop    = "stop"    // drain and finish
	doAbort   = "abort"   // leave at once
	doDrained = "drained" // the load of all hosts is over: stop watching, complete the run files
	doFinish  = "finish"  // all files are collected: end the run
)

type refused struct {
	Epoch string `json:"epoch,omitempty"`
	Text  string `json:"text"` // for people

	// AtWork is set if the agent does not know the run, and processes of an earlier agent still
	// make its load.
	AtWork bool `json:"at_work,omitempty"`
}

// partState is the progress of a process.
type partState string

const (
	partWaiting partState = "waiting" // its job was accepted
	partOpening partState = "opening"
	partReady   partState = "ready"
	partRunning partState = "running"
	partDone    partState = "done"
	partFailed  partState = "failed" // before the start
	partGone    partState = "gone"   // died without reporting its end
)

// settled reports whether the state is final for the load of the process.
func (s partState) settled() bool { return s == partDone || s == partFailed || s == partGone }

// partStatus is sent after each change, and again to a coordinator that comes back.
type partStatus struct {
	Epoch   string         `json:"epoch"`
	Process int            `json:"process"`
	State   partState      `json:"state"`
	Header  *result.Header `json:"header,omitempty"` // of its run file; nil: not ready yet, or larger than maxHeader
	Start   *result.Start  `json:"start,omitempty"`
	Ended   *Ended         `json:"ended,omitempty"`
	Text    string         `json:"text,omitempty"` // the reason of a failure
}

type partSecond struct {
	Epoch   string `json:"epoch"`
	Process int    `json:"process"`
	Second  Second `json:"second"`
}

type hostVitals struct {
	Epoch  string      `json:"epoch"`
	Vitals host.Vitals `json:"vitals"`
	Passed int         `json:"passed_over,omitempty"` // number of seconds not sent so far, because the stream was slow
}

type written struct {
	Epoch string `json:"epoch"`
	Text  string `json:"text,omitempty"` // the error of the file with the host's vitals, or ""
}

type filesAsked struct {
	Run string `json:"run"` // name or epoch; "": asks for the names of all runs
}

// filesFound are the run files of a run, or the names of all runs.
type filesFound struct {
	Files  []fileEntry `json:"files,omitempty"`
	Runs   []string    `json:"runs,omitempty"`   // names
	Unread int         `json:"unread,omitempty"` // number of files of the run that could not be read
}

// fileEntry is a run file at the time of the listing. A file that is still being written only
// gets longer.
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

// chunkAsked asks for a chunk: at most chunkBytes of the file from Offset on, up to Bytes.
type chunkAsked struct {
	RunID  string `json:"run_id"`
	Bytes  int64  `json:"bytes"` // of the file as it was listed
	Offset int64  `json:"offset"`
}

// decodeStrict decodes one JSON value into v. It refuses unknown fields and any text after the
// value.
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

// errProtocol is the error of a message that no kt of this version sends.
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

// decodeHello decodes the first message of the other side, with unknown fields.
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
