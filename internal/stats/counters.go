package stats

// Counters are the counts of a window that are not of records. A new one needs a field and a line in each:
// then run files have it, and windows add it up.
type Counters struct {
	Transactions int64 `json:"transactions,omitempty"` // committed
	Aborted      int64 `json:"aborted,omitempty"`      // transactions that could not be committed

	FailedConnects int64 `json:"failed_connects,omitempty"` // attempts to connect to a broker that failed
	PausedNS       int64 `json:"paused_ns,omitempty"`       // time for which kt itself stood still

	Deleted    int64 `json:"deleted,omitempty"`              // records that were deleted before they were read
	Withheld   int64 `json:"withheld,omitempty"`             // records behind open transactions, that reading did not get to
	LagUnknown int64 `json:"consumer_lag_unknown,omitempty"` // sources that do not know the consumer lag at the end of the window
}

// each returns all counters under their names in a run file, in the order of the struct.
func (c *Counters) each() [7]counter {
	return [...]counter{
		{`"transactions":`, &c.Transactions},
		{`"aborted":`, &c.Aborted},
		{`"failed_connects":`, &c.FailedConnects},
		{`"paused_ns":`, &c.PausedNS},
		{`"deleted":`, &c.Deleted},
		{`"withheld":`, &c.Withheld},
		{`"consumer_lag_unknown":`, &c.LagUnknown},
	}
}

type counter struct {
	field string
	n     *int64
}

func (c *Counters) add(o *Counters) {
	to, from := c.each(), o.each()
	for i := range to {
		*to[i].n += *from[i].n
	}
}
