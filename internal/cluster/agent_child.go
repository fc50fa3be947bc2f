package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/kt-bench/kt/internal/result"
)

// child is one process that makes a load.
type child struct {
	run    *hostRun
	job    ProcessJob
	orders chan ToProcess // has room for every order, so that tell never blocks

	// Guarded by run.mu.
	status  partStatus
	spawned bool
	gone    bool            // it has exited, or could not be started
	given   map[string]bool // orders that were sent
	hungUp  bool            // orders is closed
	killAt  time.Time       // zero: no deadline
	kill    func()          // nil until it is spawned
}

// orderKinds is the most orders that a process gets: job, start, stop, abort and finish, each
// once.
const orderKinds = 5

func newChild(r *hostRun, j Job) *child {
	c := &child{run: r, job: ProcessJob{Job: j}, orders: make(chan ToProcess, orderKinds), given: make(map[string]bool)}
	c.status = partStatus{Epoch: j.Part.Epoch, Process: j.Part.Process, State: partWaiting}
	return c
}

// tell sends an order to the process, unless it was sent before. The caller holds run.mu.
func (c *child) tell(order string, m ToProcess) {
	if c.given[order] || c.hungUp {
		return
	}
	c.given[order] = true
	c.orders <- m
}

// hangUp makes write close the input of the process after the last order. The process then ends
// by itself. The caller holds run.mu.
func (c *child) hangUp() {
	if !c.hungUp {
		c.hungUp = true
		close(c.orders)
	}
}

// due sets the time at which the process is killed, unless it is sooner already. The caller
// holds run.mu.
func (c *child) due(at time.Time) {
	if c.killAt.IsZero() || at.Before(c.killAt) {
		c.killAt = at
	}
}

// settled reports whether the process has ended its load. The caller holds run.mu.
func (c *child) settled() bool {
	return c.status.State.settled()
}

// live runs the process from its start to its end.
func (c *child) live() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	p, err := c.run.a.o.Spawn(ctx)
	if err != nil {
		c.update(func() {
			c.gone = true
			c.status.State, c.status.Text = partFailed, clean(fmt.Sprintf("start the process: %v", err), maxText)
		})
		return
	}
	c.update(func() {
		c.kill = func() { _ = p.Kill() } // fails only if the process has exited
	})
	written := make(chan struct{})
	hung := make(chan struct{})
	go func() {
		defer close(written)
		c.write(p.In, hung)
	}()
	err = c.listen(p.Out)
	if err != nil {
		_ = p.Kill() // its output is no longer read
	}
	_, _ = io.Copy(io.Discard, p.Out) // a process that waits to write would never end
	err = errors.Join(err, p.Wait())
	close(hung)
	<-written
	c.update(func() { c.exited(err) })
}

// write sends the orders to the process until it is gone, and then closes its input.
func (c *child) write(in io.WriteCloser, gone <-chan struct{}) {
	defer func() { _ = in.Close() }() // a pipe has no buffer
	e := json.NewEncoder(in)
	for {
		select {
		case <-gone:
			return
		case m, ok := <-c.orders:
			if !ok || e.Encode(m) != nil {
				return // after hangUp, or because the process has died, which listen notices
			}
		}
	}
}

// listen handles the messages of the process until the end of its output.
func (c *child) listen(out io.Reader) error {
	r := bufio.NewReaderSize(out, 64<<10)
	for {
		line, err := readLine(r)
		if len(line) == 0 && errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read what the process says: %w", err)
		}
		m, err := decodeFromProcess(line)
		if err != nil {
			return err
		}
		c.hear(m)
	}
}

// readLine reads up to the next end of line, and no more than maxLine.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxLine {
			return nil, fmt.Errorf("a line is longer than %d bytes", maxLine)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func (c *child) hear(m *FromProcess) {
	if m.Second != nil {
		c.run.out.second(c.job.Part.Process, m.Second)
		return
	}
	c.update(func() {
		s := &c.status
		switch {
		case m.Ready != nil && s.State == partOpening:
			s.State, s.Header = partReady, shorten(m.Ready)
		case m.Began != nil && s.State == partReady && c.run.start != nil:
			agreed := c.run.start.Agreed
			agreed.Late = m.Began.Sub(c.run.start.At)
			s.State, s.Start = partRunning, &result.Start{At: *m.Began, Agreed: &agreed}
		case m.Ended != nil && !c.settled():
			s.State, s.Ended = partDone, m.Ended
			s.Ended.Text = clean(s.Ended.Text, maxText)
			if !c.run.undo {
				c.killAt = time.Time{} // it has ended in time, and may have to wait for other hosts
			}
		case m.Failed != nil && !c.settled():
			s.State, s.Text = partFailed, clean(*m.Failed, maxText)
		}
	})
}

// shorten returns the header if it fits a message, else one without leaders and topics, else nil.
// The run file has the whole header.
func shorten(h *result.Header) *result.Header {
	if fitsMessage(h) {
		return h
	}
	short := *h
	short.Environment.Topic.Leaders, short.Environment.Topic.Replicas, short.Environment.Topics = nil, nil, nil
	if fitsMessage(&short) {
		return &short
	}
	return nil
}

// fitsMessage reports whether a header fits a message.
func fitsMessage(h *result.Header) bool {
	b, err := json.Marshal(h)
	return err == nil && len(b) <= maxHeader && elements(b) <= maxElements-maxTags // with room for the rest of the message
}

// exited notes the exit of the process. The caller holds run.mu.
func (c *child) exited(err error) {
	c.gone = true
	if c.settled() {
		return
	}
	text := "the process ended without a word"
	if err != nil {
		text = "the process died: " + err.Error()
	}
	c.status.State, c.status.Text = partGone, clean(text, maxText)
}

// update calls change with run.mu held. It reports a new state to the coordinator and the log,
// and wakes the run.
func (c *child) update(change func()) {
	c.run.mu.Lock()
	before := c.status
	change()
	after := c.status
	c.run.mu.Unlock()
	if before.State != after.State {
		c.run.out.part(after)
		c.run.a.logFailure(c.run, after)
	}
	c.run.notify()
}

// decodeFromProcess decodes and checks one line of a process.
func decodeFromProcess(line []byte) (*FromProcess, error) {
	m := new(FromProcess)
	if err := decodeStrict(line, m); err != nil {
		return nil, fmt.Errorf("the process sent an invalid message: %w", err)
	}
	if err := exactlyOne(m.Ready != nil, m.Began != nil, m.Second != nil, m.Ended != nil, m.Failed != nil); err != nil {
		return nil, fmt.Errorf("the process sent an invalid message: %w", err)
	}
	if m.Second != nil {
		if err := m.Second.check(); err != nil {
			return nil, fmt.Errorf("the process sent an invalid message: %w", err)
		}
	}
	if m.Began != nil && !plausible(*m.Began) {
		return nil, errors.New("the process said that it began at no time")
	}
	return m, nil
}
