package gossip

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/kt-bench/kt/internal/cluster/port"
)

const (
	// saidQueue bounds the lines that wait for Log, because the gossip must not wait for a
	// terminal.
	saidQueue = 256

	// textLimit bounds a peer's text in a line, in bytes.
	textLimit = 200
)

// speaker logs lines for the operator, from a goroutine of its own, so that callers never block.
type speaker struct {
	queue chan string
	quit  chan struct{} // closed by close
	wg    sync.WaitGroup

	often   port.Journal // of what may happen often: a scanner or a broken network would cause thousands of equal lines
	mu      sync.Mutex
	dropped int // guarded by mu; lines that found the queue full
}

// newSpeaker returns a speaker that calls log, which may be nil.
func newSpeaker(log func(string)) *speaker {
	if log == nil {
		log = func(string) {}
	}
	s := &speaker{queue: make(chan string, saidQueue), quit: make(chan struct{})}
	s.often.Log = func(text string) { s.say("%s", text) }
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

// clean makes a peer's text safe for a terminal.
func clean(text string) string {
	text = strings.TrimSpace(text)
	quoted := strconv.QuoteToGraphic(cut(text, textLimit))
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`) // a quote steers nothing
}
