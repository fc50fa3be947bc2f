package port

import (
	"fmt"
	"maps"
	"sync"
	"time"
)

const (
	quiet     = time.Minute // the shortest interval of two lines about one topic
	maxTopics = 32          // that have lines of their own; the others share theirs

	mostAtOnce = 2000        // lines that a log takes at once: a network of 1,000 agents that starts and ends
	lineEvery  = time.Second // the interval at which it takes more
)

// Journal logs lines about peers: the first one about a topic at once, later ones once a minute
// with their number. So nobody can fill a log, or hide the lines about others.
type Journal struct {
	Log func(string) // must not block; may be nil

	mu sync.Mutex
	of map[string]*entry // by topic, at most maxTopics and one
}

// entry is the lines about one topic.
type entry struct {
	last    time.Time // of the last line
	waiting int       // lines that were not logged yet
	latest  string    // the newest of them
}

// Note logs a line about a topic, or counts it.
func (j *Journal) Note(topic, text string) {
	now, line := time.Now(), ""
	defer func() { j.write(line) }() // nobody else waits for a slow log
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.of == nil {
		j.of = make(map[string]*entry)
	}
	if j.of[topic] == nil && len(j.of) >= maxTopics {
		maps.DeleteFunc(j.of, func(_ string, e *entry) bool { return e.waiting == 0 && now.Sub(e.last) >= quiet })
		if len(j.of) >= maxTopics {
			topic = ""
		}
	}
	if j.of[topic] == nil {
		j.of[topic] = &entry{}
	}
	e := j.of[topic]
	e.waiting++
	if e.latest = text; now.Sub(e.last) >= quiet {
		line = e.line(now)
	}
}

// line returns the line about what is waiting, and begins anew.
func (e *entry) line(now time.Time) string {
	text := e.latest
	if e.waiting > 1 {
		text = fmt.Sprintf("%s (and %d more since the last line)", text, e.waiting-1)
	}
	e.waiting, e.last = 0, now
	return text
}

func (j *Journal) write(lines ...string) {
	for _, line := range lines {
		if line != "" && j.Log != nil {
			j.Log(line)
		}
	}
}

// Flush logs the waiting lines.
func (j *Journal) Flush() {
	var lines []string
	j.mu.Lock()
	for _, e := range j.of {
		if e.waiting > 0 {
			lines = append(lines, e.line(time.Now()))
		}
	}
	j.mu.Unlock()
	j.write(lines...)
}

// Bounded returns a log that never waits for log, which gets the lines from one goroutine until end. It leaves lines out
// when there are too many, and says how many. So peers with the key cannot fill the disk by what an agent logs about them.
func Bounded(log func(text string)) (bounded func(text string), end func()) {
	var mu sync.Mutex // guards what follows
	var next time.Time
	left, ended := 0, false
	queue := make(chan string, mostAtOnce)
	var writing sync.WaitGroup
	writing.Go(func() {
		for text := range queue {
			log(text)
		}
	})
	bounded = func(text string) {
		now := time.Now()
		mu.Lock()
		defer mu.Unlock()
		if earliest := now.Add(-mostAtOnce * lineEvery); next.Before(earliest) {
			next = earliest
		}
		if next.After(now) || ended || len(queue) == cap(queue) {
			left++
			return
		}
		next = next.Add(lineEvery)
		if left > 0 {
			text = fmt.Sprintf("%s (%d lines before it were left out)", text, left)
		}
		left = 0
		queue <- text // it has room, and all who send hold mu
	}
	return bounded, func() {
		mu.Lock()
		ended = true
		lost := left
		mu.Unlock()
		close(queue)
		writing.Wait()
		if lost > 0 {
			log(fmt.Sprintf("%d lines before the end were left out", lost))
		}
	}
}
