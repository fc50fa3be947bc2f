package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/merge"
)

// live merges the copies of run files while they grow. Goroutines that follow files add lines.
type live struct {
	mu    sync.Mutex // guards the rest
	merge *merge.Live
	maker *result.Environment // what the process that makes the topic has found; nil: nothing yet
}

func newLive(h result.Header, abortOn []string) *live {
	return &live{merge: merge.NewLive(h, abortOn)}
}

// fileName names the run file of a process, or of a host's vitals, for errors.
func fileName(host string, process int) string { return fmt.Sprintf("%s-p%d", host, process) }

// add adds a complete line of a file. A bad line ends the file for the screen; merging the files tells
// what is wrong with it.
func (l *live) add(name string, line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.merge.Add(name, line)
}

// learn takes the header of the process that makes the topic.
func (l *live) learn(line []byte) {
	var of result.Line
	if !bytes.HasPrefix(line, []byte(`{"header":`)) || json.Unmarshal(line, &of) != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.maker = &of.Header.Environment
}

// made returns what the process that makes the topic has found, or nil.
func (l *live) made() *result.Environment {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.maker
}

// gone notes that no lines of a file are expected for now.
func (l *live) gone(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.merge.Gone(name)
}

// next returns the next second of the load, or false if it is not complete.
func (l *live) next(elapsed time.Duration) (merge.Second, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.merge.Next(elapsed)
}

// now returns the state of the load.
func (l *live) now() merge.Second {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.merge.Now()
}
