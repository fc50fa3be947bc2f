package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/cluster/gossip"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// Job is one process's share of a load: everything that a peer can ask for.
type Job struct {
	Part result.Part `json:"part"`
	Plan plan.Plan   `json:"plan"`

	// The Java properties of the clients.
	Producer map[string]plan.Given `json:"producer_properties,omitempty"`
	Consumer map[string]plan.Given `json:"consumer_properties,omitempty"`

	CreateTopic bool     `json:"create_topic,omitempty"`    // this process makes the topic if needed, and watches the cluster
	Args        []string `json:"command_line"`              // of the coordinator, for the run file only
	Tags        []string `json:"tags,omitempty"`            // of the run, for the run file only
	Accepted    []string `json:"accepted_doubts,omitempty"` // likewise
}

// Load is the state of the load of one process that is not in its run file.
type Load struct {
	Draining bool  `json:"draining,omitempty"`
	Buffered int64 `json:"buffered_bytes,omitempty"` // that wait for acknowledgements
	InFlight int   `json:"in_flight,omitempty"`      // requests
}

// FromProcess is a message of a process to its agent. Exactly one field is set.
type FromProcess struct {
	Ready  *string    `json:"ready,omitempty"`  // every client is open, every broker was reached; the id of its run file
	Began  *time.Time `json:"began,omitempty"`  // when the load began, by this host's clock
	Load   *Load      `json:"load,omitempty"`   // once a second
	Ended  *Ended     `json:"ended,omitempty"`  // the run file is written
	Failed *string    `json:"failed,omitempty"` // no load was made; the reason, for people
}

// Ended is the end of a run of one process.
type Ended struct {
	Code int    `json:"exit_code"`
	Text string `json:"text,omitempty"` // the error, for people, or ""
}

// ToProcess is a message of an agent to a process, the first one a Job. Exactly one field is set, but for Why.
type ToProcess struct {
	Job   *ProcessJob `json:"job,omitempty"`
	Start *StartOrder `json:"start,omitempty"`
	Stop  bool        `json:"stop,omitempty"`  // drain and finish, as after the first Ctrl-C
	Why   string      `json:"why,omitempty"`   // with Stop: the condition of --abort-on that came true
	Abort bool        `json:"abort,omitempty"` // leave at once, as after the second

	// Finish comes after Ended, when all processes of all hosts have drained and a topic may be deleted.
	Finish bool `json:"finish,omitempty"`
}

// ProcessJob is a Job with the fields that only its own host sets.
type ProcessJob struct {
	Job
	RunFile string `json:"run_file"` // chosen by the agent

	// Most bounds the time from the start to the end of the drain, then the process is killed or ends; 0: unknown.
	Most time.Duration `json:"most_ns,omitempty"`
}

// StartOrder sets the start of the load.
type StartOrder struct {
	At     time.Time     `json:"at"`     // by the clock of the host that gets it
	Agreed result.Agreed `json:"agreed"` // for the run file; Late is not set yet
}

// checkName returns an error if a name of a host, a run or an epoch cannot be part of a file name.
func checkName(name string) error {
	if err := plan.CheckName(name); err != nil {
		return fmt.Errorf("%q: %w", clean(name, 64), err)
	}
	return nil
}

// clean returns a peer's text as one line of up to most bytes without control and formatting characters.
func clean(text string, most int) string {
	return theme.Clip(theme.Clean(strings.TrimSpace(text)), most)
}

// oneLine returns the text of an error as clean does, with "; " between joined errors.
func oneLine(err error, most int) string {
	return clean(strings.ReplaceAll(err.Error(), "\n", "; "), most)
}

// cleanTexts cleans all texts of an answer, which v points to.
func cleanTexts(v any, most int) { walk(reflect.ValueOf(v), most) }

func walk(v reflect.Value, most int) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			walk(v.Elem(), most)
		}
	case reflect.String:
		v.SetString(clean(v.String(), most))
	case reflect.Slice:
		for i := range v.Len() {
			walk(v.Index(i), most)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				walk(v.Field(i), most)
			}
		}
	default:
	}
}

// Info describes an agent.
type Info struct {
	Name    string   `json:"name"`
	Role    string   `json:"role"` // "broker" or "client"
	Version string   `json:"version"`
	Tags    []string `json:"tags,omitempty"`

	// Security is the protocol and the mechanism of its connections to Kafka, without credentials; "": not known.
	Security string `json:"security,omitempty"`
}

// check returns an error if the name, the role or a tag of an agent is not valid.
func (i Info) check() error {
	if i.Role != "broker" && i.Role != "client" {
		return fmt.Errorf("--role %q: it must be broker or client", i.Role)
	}
	return gossip.Info{Name: i.Name, Role: i.Role, Tags: i.Tags}.Check()
}

// Bounds in bytes of a body.
const (
	maxBody  = 64 << 10  // of most requests
	maxOffer = 256 << 10 // stays in memory during its run; a roster of 1,000 hosts and a command line of 64 KiB fit

	// maxAnswer is enough for a listing of maxListed files, and for 1,000 agents with all their tags.
	maxAnswer = 1 << 20

	// maxElements bounds the values in a body: an empty one takes two bytes of JSON and hundreds of memory.
	maxElements = 50_000
)

// errProtocol is the error of a body that no kt of this version sends.
var errProtocol = errors.New("it is no message of this kt")

// decodeBody decodes and checks a body of at most most bytes. Unknown fields are errors.
func decodeBody(r io.Reader, most int64, v checked) error {
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return err
	}
	if int64(len(b)) > most {
		return fmt.Errorf("%w: it is longer than %d bytes", errProtocol, most)
	}
	if bytes.Count(b, []byte(",")) >= maxElements {
		return fmt.Errorf("%w: it has more than %d values", errProtocol, maxElements)
	}
	if err = decodeStrict(b, v); err == nil {
		err = v.check()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errProtocol, err)
	}
	return nil
}

// decodeStrict decodes one JSON value into v. It refuses unknown fields and any text after the value.
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

// refusal is an error of an agent with a status and a body of its own.
type refusal struct {
	code int
	problem
}

func (r *refusal) Error() string { return r.problem.Error }

// reply writes an answer, or the error of a request. Errors without a status are refusals.
func reply(w http.ResponseWriter, v any, err error) {
	code := http.StatusOK
	if err != nil {
		r := &refusal{code: http.StatusConflict, problem: problem{Error: oneLine(err, maxText)}}
		_ = errors.As(err, &r) // or it stays as it is
		r.problem.Error = clean(r.problem.Error, maxText)
		code, v = r.code, r.problem
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // a peer that is gone hears nothing
}

// agentError is an error that a retry would not change: an agent's answer, or this machine's disk.
type agentError struct {
	error
	code  int  // HTTP's; 0: not from an agent
	alive bool // processes of an earlier agent are at work on the run
}

func (e *agentError) Unwrap() error { return e.error }

// call sends a request to an agent and decodes its answer. in may be nil. A refusal is an agentError.
func (c *Client) call(ctx context.Context, method, addr, path string, in any, out checked) error {
	response, err := c.send(ctx, method, addr, path, in)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // it was read
	return decodeBody(response.Body, maxAnswer, out)
}

// send sends a request. The caller closes the body of the response.
func (c *Client) send(ctx context.Context, method, addr, path string, in any) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("write a request: %w", err)
		}
		body = bytes.NewReader(b)
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://"+addr+path, body)
	if err != nil {
		return nil, fmt.Errorf("address %q: write host:port", clean(addr, 256))
	}
	r.Header.Set("Accept-Encoding", "identity") // run files are compressed already
	response, err := c.conn.Do(r)
	if err != nil {
		var outer *url.Error
		if errors.As(err, &outer) {
			err = outer.Err // the caller knows the address
		}
		return nil, err
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer func() { _ = response.Body.Close() }() // it was read
	var p problem
	if err := decodeBody(response.Body, maxBody, &p); err != nil {
		return nil, fmt.Errorf("%w: status %s", errProtocol, clean(response.Status, 64))
	}
	return nil, &agentError{errors.New(p.Error), response.StatusCode, p.AtWork}
}

// unanswered returns an error with the timeout in place of a context's deadline error.
func unanswered(err error, waited time.Duration) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("it did not answer within %v", waited)
	}
	return err
}

// runPath returns the path of a run's request.
func runPath(run string) string { return "/v1/runs/" + run }
