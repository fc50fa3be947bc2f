package gossip

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// repeatAfter is how often one thing is said at most. A scanner or a broken network
	// makes thousands of equal lines.
	repeatAfter = time.Minute

	// maxSaid bounds the things that are remembered as said.
	maxSaid = 256

	// saidQueue is how many lines may wait for Log. It is called beside the gossip, which
	// may not wait for a terminal.
	saidQueue = 256

	// textLimit is the longest that a foreign text may be in a line, in bytes.
	textLimit = 200
)

// speaker tells a user what happens: each thing at most once a minute, and never in the
// way of who tells.
type speaker struct {
	queue chan string
	quit  chan struct{} // closed when nothing more is to be said
	wg    sync.WaitGroup

	mu      sync.Mutex
	said    map[string]*saying // guarded by mu; by topic
	dropped int                // guarded by mu; lines that found the queue full
}

// saying is what was said of a topic.
type saying struct {
	at    time.Time
	again int // how often it happened since
}

// newSpeaker starts to call log, one line at a time; nil: nobody listens.
func newSpeaker(log func(string)) *speaker {
	if log == nil {
		log = func(string) {}
	}
	s := &speaker{queue: make(chan string, saidQueue), quit: make(chan struct{}), said: make(map[string]*saying)}
	s.wg.Go(func() {
		for {
			select {
			case text := <-s.queue:
				log(text)
			case <-s.quit:
				// What was said before the end is still told.
				for len(s.queue) > 0 {
					log(<-s.queue)
				}
				if n := s.lost(); n > 0 {
					log(fmt.Sprintf("%d lines before the end were dropped", n))
				}
				return
			}
		}
	})
	return s
}

// lost returns how many lines were dropped and not told of.
func (s *speaker) lost() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropped
}

// close tells the rest, and waits until it is told.
func (s *speaker) close() {
	close(s.quit)
	s.wg.Wait()
}

// say tells something.
func (s *speaker) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dropped > 0 {
		text += fmt.Sprintf(" (%d lines before it were dropped)", s.dropped)
	}
	select {
	case s.queue <- text:
		s.dropped = 0
	default:
		s.dropped++
	}
}

// sayOf tells something that may happen often: of one topic once a minute, with how often
// it happened in between.
func (s *speaker) sayOf(topic string, now time.Time, format string, args ...any) {
	again, since, ok := s.due(topic, now)
	if !ok {
		return
	}
	text := fmt.Sprintf(format, args...)
	if again > 0 {
		text += fmt.Sprintf(" (and %d times more since %s)", again, since.Format(time.TimeOnly))
	}
	s.say("%s", text)
}

// due reports whether it is time to speak of a topic, and how often nothing was said since
// the last time.
func (s *speaker) due(topic string, now time.Time) (again int, since time.Time, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.said[topic]
	if last != nil && now.Sub(last.at) < repeatAfter {
		last.again++
		return 0, now, false
	}
	if last != nil {
		again, since = last.again, last.at
	}
	if last == nil && len(s.said) >= maxSaid {
		// Topics of names that were made up. Forgetting them costs a repetition.
		clear(s.said)
	}
	s.said[topic] = &saying{at: now}
	return again, since, true
}

// clean makes a foreign text one that a terminal can show.
func clean(text string) string {
	text = strings.TrimSpace(text)
	quoted := strconv.QuoteToGraphic(cut(text, textLimit))
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`) // a quote steers nothing
}
