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
	"strings"
	"time"
)

// Bounds in bytes of a body.
const (
	maxBody  = 64 << 10  // of most requests
	maxOffer = 256 << 10 // stays in memory during its run; a roster of 1,000 hosts and a command line of 64 KiB fit

	// maxAnswer is enough for a listing of maxListed files, and for 1,000 agents with all their tags.
	maxAnswer = 1 << 20

	// maxElements bounds the values in a body, because an empty value takes two bytes of JSON and
	// hundreds of memory. A listing of maxListed files has 18,000 values.
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

// agentError is an error that a retry would not change: an agent's answer, or this machine's
// disk.
type agentError struct {
	error
	code  int  // HTTP's; 0: not from an agent
	alive bool // processes of an earlier agent are at work on the run
}

func (e *agentError) Unwrap() error { return e.error }

// isUnknown reports whether an agent does not know the run or file that it was asked for.
func isUnknown(err error) (atWork, ok bool) {
	var said *agentError
	if !errors.As(err, &said) || said.code != http.StatusNotFound {
		return false, false
	}
	return said.alive, true
}

// call sends a request to an agent and decodes its answer. in may be nil. A refusal is an
// agentError.
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
func runPath(run string, more ...string) string {
	return "/v1/runs/" + strings.Join(append([]string{run}, more...), "/")
}
