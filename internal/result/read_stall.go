package result

import (
	"time"

	"github.com/kt-bench/kt/internal/stats"
)

// stallWaits is the share of a gap in which the readers must have waited for records. A gap in which
// they worked or were held back is no stall.
const stallWaits = 0.90

// readStall finds the longest time in which no record came although records waited.
type readStall struct {
	longest stats.Gap

	seen        bool          // a record has come
	last        time.Duration // when the newest record came
	wait, total time.Duration // of all readers, from the window of the newest record on
	length      time.Duration // of these windows
}

// add takes a window, and the consumer lag before and after it. An open gap counts up to the end of the window.
func (s *readStall) add(w *stats.Window, before, after int64) {
	end, lag := w.End, after
	if w.Consumed > 0 {
		end, lag = w.FirstRead, before
	}
	s.wait += w.ReadWait
	s.total += w.ReadTime
	s.length += w.End - w.Start
	gap := stats.Gap{From: s.last, Length: end - s.last}
	waited := float64(s.wait)*float64(s.length) >= stallWaits*float64(gap.Length)*float64(s.total)
	if s.seen && lag > 0 && waited && gap.Length > s.longest.Length {
		s.longest = gap
	}
	if w.Consumed > 0 {
		*s = readStall{
			longest: s.longest, seen: true, last: w.LastRead,
			wait: w.ReadWait, total: w.ReadTime, length: w.End - w.Start,
		}
	}
}
