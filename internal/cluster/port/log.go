package port

import (
	"fmt"
	"sync"
	"time"
)

const (
	// quiet is the shortest interval of two lines about one source.
	quiet = time.Minute
	// maxSources bounds the sources that have lines of their own. The others share theirs.
	maxSources = 32
)

// journal logs lines about peers: the first one about a source at once, later ones once a minute
// with their number. So nobody can fill a log, or hide the lines about others.
type journal struct {
	log func(string) // may be nil

	mu sync.Mutex
	of map[source]*entry // at most maxSources and one
}

// entry is the lines about one source.
type entry struct {
	last    time.Time // of the last line
	pending int       // lines that were not logged yet
	latest  string    // the newest of them
}

// note logs a line about a source, or counts it.
func (j *journal) note(from source, text string) {
	now := time.Now()
	j.mu.Lock()
	e := j.find(from, now)
	e.pending++
	e.latest = text
	if now.Sub(e.last) >= quiet {
		text = e.take(now)
	} else {
		text = ""
	}
	j.mu.Unlock()
	j.write(text)
}

// find returns the entry of a source. The caller holds mu.
func (j *journal) find(from source, now time.Time) *entry {
	if j.of == nil {
		j.of = make(map[source]*entry)
	}
	if e := j.of[from]; e != nil {
		return e
	}
	if len(j.of) >= maxSources {
		for s, e := range j.of {
			if e.pending == 0 && now.Sub(e.last) >= quiet {
				delete(j.of, s)
			}
		}
	}
	if len(j.of) >= maxSources {
		from = source{}
	}
	e := j.of[from]
	if e == nil {
		e = &entry{}
		j.of[from] = e
	}
	return e
}

// take returns the line about what is pending.
func (e *entry) take(now time.Time) string {
	text := e.latest
	if e.pending > 1 {
		text = fmt.Sprintf("%s (and %d more since the last line)", text, e.pending-1)
	}
	e.pending, e.last = 0, now
	return text
}

// flush logs the pending lines.
func (j *journal) flush() {
	j.mu.Lock()
	var lines []string
	for _, e := range j.of {
		if e.pending > 0 {
			lines = append(lines, e.take(time.Now()))
		}
	}
	j.mu.Unlock()
	for _, text := range lines {
		j.write(text)
	}
}

func (j *journal) write(text string) {
	if text != "" && j.log != nil {
		j.log(text)
	}
}
