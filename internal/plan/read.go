package plan

import (
	"cmp"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"time"
)

// OwnGroup begins the id of a group that nobody has named. A random number follows.
const OwnGroup = "perf-consumer-"

// ShareClient is the client id of members of share groups unless the user names one. The number of the consumer follows, as in Kafka's own test.
const ShareClient = "perf-share-consumer-client"

// Read is how the records are read. The zero value reads nothing.
type Read struct {
	Consumers int    `json:"consumers"`                      // clients in this process, of each group
	Include   string `json:"include,omitempty"`              // regular expression of the topics to read, see Pattern; "": the plan's topic
	Group     string `json:"group,omitempty"`                // "": no group, the consumers share the partitions out among themselves
	Groups    int    `json:"groups,omitempty" flag:"groups"` // more than 1: so many groups, each of which reads everything, named Group-0 and so on
	From      From   `json:"from"`                           // where a partition is read from, unless its group has committed an offset
	Commit    Commit `json:"commit"`

	AllowGaps bool `json:"allow_gaps,omitempty" flag:"allow-gaps"` // records that are deleted before they are read are no fault
	// Mirror: the records to verify are those of copies of a ledger's topics. Repartitioned: a copy may have them in other partitions.
	Mirror        bool `json:"mirror,omitempty" flag:"mirror"`
	Repartitioned bool `json:"repartitioned,omitempty" flag:"repartitioned"`

	ToEnd      bool     `json:"to_end,omitempty"`                                       // stop where the partitions ended when the run began
	Processing Work     `json:"processing_time,omitzero" flag:"processing-time"`        // the time that a consumer works on each record, after the poll
	Threads    int      `json:"processing_threads,omitempty" flag:"processing-threads"` // records that a consumer works on at once; 0: one
	Mode       WorkMode `json:"processing_mode,omitempty" flag:"processing-mode"`       // "": WorkBlocking
	OrderedBy  string   `json:"ordered_by,omitempty" flag:"ordered-by"`                 // "key": records of one key are worked on one after the other; "": in any order

	// Backlog is how many bytes of keys and values wait, of all groups together, before the consumers of a round trip go on: they
	// pause after the warm-up. The rest of the load's duration begins when BacklogLeft of it is left, 0 to 1, or 1000 records. 0: no pause.
	Backlog     int64   `json:"backlog_bytes,omitempty" flag:"backlog"`
	BacklogLeft float64 `json:"backlog_left_share,omitempty" flag:"backlog-left"`

	Timeout Duration `json:"timeout,omitempty" flag:"timeout"` // stop when no record has come for so long; 0: never

	Share *ShareGroup `json:"share_group,omitempty"` // how records are acknowledged; nil: the group is no share group
}

// Pattern is Include as it counts: it must match the whole name of a topic, as in
// Java. What Java understands and Go does not, or understands as something else, is
// an error.
func (r *Read) Pattern() (*regexp.Regexp, error) {
	if class := javaClass(r.Include); class != "" {
		return nil, fmt.Errorf("%s: kt has no intersections and no classes within classes as Java has", class)
	}
	if _, err := syntax.Parse(r.Include, syntax.Perl); err != nil { // by itself: "a)(b" is one within brackets
		return nil, fmt.Errorf("%w; kt has no look-ahead, look-behind, back-references, possessive quantifiers or \\u as Java has", err)
	}
	return regexp.Compile(`^(?:` + r.Include + `)$`)
}

var (
	literal = regexp.MustCompile(`(?s)\\Q.*?(?:\\E|$)|\\.`) // means itself
	inClass = regexp.MustCompile(`(?s)\[[^\]]*?(?:\[|&&)`)  // the beginning of a class of Java's own
)

// javaClass returns the first part of a pattern that Go reads in silence as something else than Java: && or [ in a class.
func javaClass(pattern string) string {
	rest := literal.ReplaceAllStringFunc(pattern, func(text string) string { return strings.Repeat("x", len(text)) })
	if at := inClass.FindStringIndex(rest); at != nil {
		return pattern[at[0]:]
	}
	return ""
}

// Clients returns how many consumers there are, in all groups.
func (r *Read) Clients() int { return r.Consumers * max(1, r.Groups) }

// GroupName returns the name of a group, counted from 0; "": the consumers have none.
func (r *Read) GroupName(index int) string {
	if r.Group != "" && r.Groups > 1 {
		return r.Group + "-" + strconv.Itoa(index)
	}
	return r.Group
}

// WorkMode is when a consumer polls while it works.
type WorkMode string

// The ways to work.
const (
	WorkBlocking   WorkMode = "blocking"   // all records of a poll, and then it polls again
	WorkContinuous WorkMode = "continuous" // it polls as soon as a thread has nothing to do
)

// Workers returns how many records a consumer works on at once, 1 or more.
func (r *Read) Workers() int { return max(1, r.Threads) }

// Commit is how a group's offsets are committed.
type Commit string

// The ways to commit.
const (
	CommitNone  Commit = "none"
	CommitAuto  Commit = "auto"  // by the client, every auto.commit.interval.ms
	CommitSync  Commit = "sync"  // after each poll, waiting for it
	CommitAsync Commit = "async" // after each poll, without waiting
)

// From is a place in a partition to start reading from. The zero value is its
// earliest record.
type From struct {
	Latest bool
	Offset int64     // when HasOffset: the same in every partition
	Time   time.Time // not zero: the first record that is not older

	HasOffset bool
}

// ParseFrom reads "earliest", "latest", an offset ("offset:1500" or "1500"), or a
// time ("timestamp:2026-01-31T15:04:05Z", or milliseconds since 1970 there).
func ParseFrom(s string) (From, error) {
	kind, value, _ := strings.Cut(s, ":")
	n, noNumber := strconv.ParseInt(cmp.Or(value, s), 10, 64)
	at, noTime := time.Parse(time.RFC3339Nano, value)
	switch {
	case s == "earliest":
		return From{}, nil
	case s == "latest":
		return From{Latest: true}, nil
	case (kind == "offset" || kind == s) && noNumber == nil && n >= 0:
		return From{HasOffset: true, Offset: n}, nil
	case kind == "timestamp" && noNumber == nil && n > 0:
		return From{Time: time.UnixMilli(n).UTC()}, nil
	case kind == "timestamp" && noTime == nil:
		return From{Time: at}, nil
	}
	return From{}, fmt.Errorf("%q: write earliest, latest, offset:1500, or timestamp:2026-01-31T15:04:05Z", s)
}

// Check returns an error for a time at which no record can be, as of seconds where milliseconds are meant.
func (f From) Check(now time.Time) error {
	if first := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC); !f.Time.IsZero() && (f.Time.Before(first) || f.Time.After(now.AddDate(0, 0, 1))) {
		return fmt.Errorf("%s: no record is of that time; write milliseconds since 1970 (now: %d) or a time as 2026-01-31T15:04:05Z", f, now.UnixMilli())
	}
	return nil
}

// String writes the place as ParseFrom reads it.
func (f From) String() string {
	switch {
	case f.Latest:
		return "latest"
	case f.HasOffset:
		return fmt.Sprintf("offset:%d", f.Offset)
	case !f.Time.IsZero():
		return "timestamp:" + f.Time.Format(time.RFC3339Nano)
	}
	return "earliest"
}

// MarshalText returns String.
func (f From) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText reads a start as ParseFrom does.
func (f *From) UnmarshalText(b []byte) (err error) {
	*f, err = ParseFrom(string(b))
	return err
}
