package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/merge"
)

// live merges the copies of run files while they grow. Goroutines that follow files add lines.
type live struct {
	mu    sync.Mutex // guards the rest
	merge *merge.Live
	maker string              // the file of the process that makes the topic
	found *result.Environment // what that has found; nil: nothing yet
}

// fileName names the run file of a process, or of a host's vitals, for errors.
func fileName(host string, process int) string { return fmt.Sprintf("%s-p%d", host, process) }

// do uses the merged files.
func (l *live) do(use func(*merge.Live)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	use(l.merge)
}

// add adds a complete line of a file. A bad line ends the file for the screen; merging the files tells
// what is wrong with it.
func (l *live) add(name string, line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.merge.Add(name, line)
	var of result.Line
	if name == l.maker && bytes.HasPrefix(line, []byte(`{"header":`)) && json.Unmarshal(line, &of) == nil {
		l.found = &of.Header.Environment
	}
}

// made returns what the process that makes the topic has found, or nil.
func (l *live) made() *result.Environment {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.found
}
