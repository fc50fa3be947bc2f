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
	orders chan ToProcess // to its writer; has room for every order that there is

	// Guarded by run.mu.
	status  partStatus
	spawned bool
	gone    bool            // it has exited, or could not be started
	given   map[string]bool // orders that it got
	hungUp  bool            // its input is closed, or is about to be
	killAt  time.Time       // zero: it is left to itself
	kill    func()          // nil until it is spawned
}

// orderKinds is how many orders a process can get: a job, a start, stop, abort, finish.
const orderKinds = 5

func newChild(r *hostRun, j Job) *child {
	c := &child{run: r, job: ProcessJob{Job: j}, orders: make(chan ToProcess, orderKinds), given: make(map[string]bool)}
	c.status = partStatus{Epoch: j.Part.Epoch, Process: j.Part.Process, State: partWaiting}
	return c
}

// tell gives an order to the process, once. The caller holds run.mu.
func (c *child) tell(order string, m ToProcess) {
	if c.given[order] || c.hungUp {
		return
	}
	c.given[order] = true
	c.orders <- m
}

// hangUp lets the process end by itself: there are no more orders. The caller holds
// run.mu.
func (c *child) hangUp() {
	if !c.hungUp {
		c.hungUp = true
		close(c.orders)
	}
}

// due sets a time by which the process has to be gone. The caller holds run.mu.
func (c *child) due(at time.Time) {
	if c.killAt.IsZero() || at.Before(c.killAt) {
		c.killAt = at
	}
}

// settled reports whether the process has nothing more to say of its load. The caller
// holds run.mu.
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
		c.kill = func() { _ = p.Kill() } // it is gone if it cannot be killed
	})
	written := make(chan struct{})
	hung := make(chan struct{})
	go func() {
		defer close(written)
		c.write(p.In, hung)
	}()
	err = c.listen(p.Out)
	if err != nil {
		_ = p.Kill() // nobody understands it
	}
	_, _ = io.Copy(io.Discard, p.Out) // so that it can end
	err = errors.Join(err, p.Wait())
	close(hung)
	<-written
	c.update(func() { c.exited(err) })
}

// write hands orders to the process until it is gone.
func (c *child) write(in io.WriteCloser, gone <-chan struct{}) {
	defer func() { _ = in.Close() }() // it has nothing to flush
	e := json.NewEncoder(in)
	for {
		select {
		case <-gone:
			return
		case m, ok := <-c.orders:
			if !ok || e.Encode(m) != nil {
				return // it is hung up, or it has died, and listen finds out why
			}
		}
	}
}

// listen takes in what the process says.
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
			s.State, s.Header = partReady, travelling(m.Ready)
		case m.Began != nil && s.State == partReady && c.run.start != nil:
			agreed := c.run.start.Agreed
			agreed.Late = m.Began.Sub(c.run.start.At)
			s.State, s.Start = partRunning, &result.Start{At: *m.Began, Agreed: &agreed}
		case m.Ended != nil && !c.settled():
			s.State, s.Ended = partDone, m.Ended
			s.Ended.Text = clean(s.Ended.Text, maxText)
			if !c.run.undo {
				c.killAt = time.Time{} // it has obeyed, and may have to wait for other hosts
			}
		case m.Failed != nil && !c.settled():
			s.State, s.Text = partFailed, clean(*m.Failed, maxText)
		}
	})
}

// travelling returns a header that fits a message. What is left out where there are very many
// partitions is in the run file.
func travelling(h *result.Header) *result.Header {
	if travels(h) {
		return h
	}
	short := *h
	short.Environment.Topic.Leaders, short.Environment.Topics = nil, nil
	if travels(&short) {
		return &short
	}
	return nil
}

// travels reports whether a header fits a message.
func travels(h *result.Header) bool {
	b, err := json.Marshal(h)
	return err == nil && len(b) <= maxHeader && elements(b) <= maxElements-maxTags // with room for the rest of the message
}

// exited notes that the process is gone. The caller holds run.mu.
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

// update changes the child, and tells the coordinator and the run.
func (c *child) update(change func()) {
	c.run.mu.Lock()
	before := c.status
	change()
	after := c.status
	c.run.mu.Unlock()
	if before.State != after.State {
		c.run.out.part(after)
		c.run.a.tellOf(c.run, after)
	}
	c.run.notify()
}

// decodeFromProcess reads one line that a process said.
func decodeFromProcess(line []byte) (*FromProcess, error) {
	m := new(FromProcess)
	if err := decodeStrict(line, m); err != nil {
		return nil, fmt.Errorf("the process said what is no message: %w", err)
	}
	if err := one(m.Ready != nil, m.Began != nil, m.Second != nil, m.Ended != nil, m.Failed != nil); err != nil {
		return nil, fmt.Errorf("the process said what is no message: %w", err)
	}
	if m.Second != nil {
		if err := m.Second.check(); err != nil {
			return nil, fmt.Errorf("the process said what is no message: %w", err)
		}
	}
	if m.Began != nil && !plausible(*m.Began) {
		return nil, errors.New("the process said that it began at no time")
	}
	return m, nil
}
