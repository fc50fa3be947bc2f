package capture

import (
	"context"
	"time"
)

// Look is what to look at, and how much it may cost the system.
type Look struct {
	Last       time.Duration // rates are of this time up to now
	Stage      time.Duration // and of each of these in it, which are a whole number; 0: their mean
	Live       time.Duration // rates are measured over this time from now on, instead of Last; 0: they are not
	Sample     int64         // bytes of records to read at most; 0: none
	SampleRate int64         // bytes/s of that at most; 0: no limit
	Lookups    int           // offsets by time that are asked for in a second, at most; 0: no limit
	Payloads   int           // record values of each topic to keep (Records.Keep); 0: none
}

// Looker is a system that can be looked at. It joins, commits, creates and changes nothing there.
type Looker interface {
	// Look returns what it has found. What could not be seen of topics and groups is in their notes, and no error. say gets a line
	// for each step that takes time.
	Look(ctx context.Context, l Look, say func(string)) (*Cluster, error)
}
