package gossip

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// repeatAfter is the shortest interval of lines of one topic. A scanner or a broken network
	// would cause thousands of equal lines.
	repeatAfter = time.Minute

	// maxSaid bounds the topics that are remembered.
	maxSaid = 256

	// saidQueue bounds the lines that wait for Log, because the gossip must not wait for a
	// terminal.
	saidQueue = 256

	// textLimit bounds a peer's text in a line, in bytes.
	textLimit = 200
)

// speaker logs lines for the operator, from a goroutine of its own, so that callers never block.
// It logs each topic once a minute at most.
type speaker struct {
	queue chan string
	quit  chan struct{} // closed by close
	wg    sync.WaitGroup

	mu      sync.Mutex
	said    map[string]*saying // guarded by mu; by topic
	dropped int                // guarded by mu; lines that found the queue full
}

// saying is the last line of a topic.
type saying struct {
	at    time.Time
	again int // number of calls since then
}

// newSpeaker returns a speaker that calls log, which may be nil.
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
				// The lines before the end are still logged.
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

// lost returns the number of dropped lines that no line has mentioned.
func (s *speaker) lost() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropped
}

// close logs the remaining lines and ends the goroutine.
func (s *speaker) close() {
	close(s.quit)
	s.wg.Wait()
}

// say logs a line.
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

// sayOf logs a line about something that may happen often: once a minute for each topic, with the
// number of times since the last line.
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

// due reports whether a line of a topic is due. again is the number of calls since the last line.
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
		// So many topics come from made-up names. Forgetting them only repeats a line.
		clear(s.said)
	}
	s.said[topic] = &saying{at: now}
	return again, since, true
}

// clean makes a peer's text safe for a terminal.
func clean(text string) string {
	text = strings.TrimSpace(text)
	quoted := strconv.QuoteToGraphic(cut(text, textLimit))
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`) // a quote steers nothing
}
