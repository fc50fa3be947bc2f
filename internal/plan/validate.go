package plan

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// The largest values that a plan may hold. They are far above what anyone needs
// and keep a slip of the keyboard from taking a cluster or this machine down.
const (
	MaxClients    = 1000    // producers, and consumers of one group
	MaxThreads    = 100_000 // of all consumers
	MaxPartitions = 100_000 // of a topic that kt makes; a larger one is read as it is, and may grow no further in the run

	MaxAllPartitions = 1_000_000 // of all topics of a load
)

// problems are all that is wrong with a plan.
type problems []error

// refuse notes the problem of a value, if it is wrong.
func (p *problems) refuse(wrong bool, flag string, value any, why string, args ...any) {
	if wrong {
		*p = append(*p, Refuse(flag, value, why, args...))
	}
}

// Validate reports everything that is wrong with the plan by itself, each
// problem naming its flag. It does not ask a broker.
func (p *Plan) Validate() error {
	var bad problems
	bad.refuse(!slices.Contains(Engines, p.Engine), "engine", p.Engine, "it must be one of %q", Engines)
	p.checkURL(&bad)
	p.checkTopic(&bad)
	p.Load.check(&bad)
	p.Share.check(&bad, p)
	if p.Command == Consume { // there is no payload, and no record is due before it was read
		bad.refuse(p.Producers != 0, "producers", p.Producers, "kt consume writes nothing")
		bad.refuse(p.Load.Rate.Bytes, "rate", p.Load.Rate, "reading is held to a number of records a second (50000), not of bytes")
		bad.refuse(p.Load.Arrivals == Poisson, "arrivals", "poisson", "it is for records that are written")
		bad.refuse(p.Load.Transaction != 0, "transaction-duration-ms", nil, "kt consume writes nothing")
	} else {
		bad.refuse(p.Producers < 1 || p.Producers > MaxClients, "producers", p.Producers, "it must be from 1 to %d", MaxClients)
		p.Payload.check(&bad)
	}
	bad.refuse(p.Read.Share != nil && p.Engine == Wire, "engine", p.Engine, "it has no share groups: their records are acknowledged one by one, by --engine client")
	bad.refuse(p.Command == Roundtrip && p.Engine == Wire, "engine", p.Engine, "kt %s has the client engine only", p.Command)
	bad.refuse(p.Read.OrderedBy != "" && p.Engine == Wire, "ordered-by", p.Read.OrderedBy, "--engine wire looks at no keys; use --engine client")
	if p.Command != Produce {
		p.Read.check(&bad)
		bad.refuse(p.Read.Mirror && !p.Verify, "mirror", nil, "it goes with --verify LEDGER")
	}
	bad.refuse(p.Load.UntilFull && p.Embedded(), "until-full", nil, "the broker inside kt keeps its log in memory; name a cluster with --bootstrap-server")
	if p.Read.Backlog > 0 {
		bad.refuse(!p.Writes(), "backlog", nil, "it is for kt roundtrip")
		bad.refuse(len(p.Load.Rate.Stages) > 0 || p.Load.Records > 0 || p.Load.OneAtATime, "backlog", nil, "the load ends after the backlog: leave out stages of --rate, --num-records and --one-at-a-time")
		bad.refuse(!p.Share.IsZero(), "backlog", nil, "one process makes it: leave out --on")
	}
	bad.refuse(!(p.Read.BacklogLeft >= 0 && p.Read.BacklogLeft <= 1), "backlog-left", p.Read.BacklogLeft, "it must be from 0 to 1")
	if p.Load.OneAtATime {
		bad.refuse(p.Producers != 1 || p.Read.Clients() != 1, "one-at-a-time", nil, "it takes one producer and one consumer")
		bad.refuse(!p.Load.Rate.IsUnlimited(), "one-at-a-time", nil, "each record waits for the one before, so there is no --rate to keep")
	}
	return errors.Join(bad...)
}

func (p *Plan) checkTopic(bad *problems) {
	name, include := p.Topic.Name, p.Read.Include
	switch {
	case include != "" && p.Command != Consume:
		bad.refuse(true, "include", include, "kt %s reads the topic that it writes to", p.Command)
	case include != "" && name != "":
		bad.refuse(true, "", nil, "--include and --topic exclude each other: give one")
	case include != "" && p.Verify:
		bad.refuse(true, "include", include, "the ledger names the topics")
	case name == "" && p.Command == Consume && (include != "" || p.Verify): // the pattern or the ledger tells
	case name == "" && p.Command == Consume:
		*bad = append(*bad, About("topic", errors.New("--topic or --include: give one, to name the topics to read")))
	default:
		names, err := ParseTopics(name)
		bad.refuse(err != nil, "topic", name, "%w", err)
		one, other := alike(names)
		bad.refuse(one != "" && p.URL == "", "topic", name, "%s and %s differ by '.' and '_' only, and Kafka takes one of them", one, other)
	}
	if how := p.Topic.Distribution; how != "" {
		_, err := ParseZipf(how)
		bad.refuse(err != nil && how != OwnTopics, "topic-distribution", how, "%w, even or own", err)
		bad.refuse(!p.Topic.Several(), "topic-distribution", how, "it is for several topics: give --topics N, or several to --topic")
	}
	bad.refuse(p.Topic.Partitions < 0 || p.Topic.Partitions > MaxPartitions, "partitions", p.Topic.Partitions, "it must be from 1 to %d", MaxPartitions)
	all := len(p.Topic.Names()) * int(p.Topic.Partitions)
	bad.refuse(all > MaxAllPartitions, "partitions", p.Topic.Partitions, "these are %d partitions in all topics; kt takes %d", all, MaxAllPartitions)
	bad.refuse(p.Topic.ReplicationFactor < 0, "replication-factor", p.Topic.ReplicationFactor, "it must be 1 or more")
}

// checkURL refuses what does not fit a load that is not of Kafka.
func (p *Plan) checkURL(bad *problems) {
	if p.URL == "" {
		return
	}
	if _, err := ParseURL(p.URL); err != nil {
		bad.refuse(true, "url", nil, "%w", err)
		return
	}
	system := p.System()
	bad.refuse(len(p.Bootstrap) > 0, "", nil, "--url and --bootstrap-server exclude each other: give one")
	bad.refuse(p.Engine != Client, "engine", p.Engine, "it is for Kafka; %s has the client engine only", system)
	bad.refuse(p.Read.Include != "", "include", nil, "%s has no pattern of topics here: name one with --topic", system)
	bad.refuse(p.Read.Groups > 1 && system == RabbitMQ, "groups", p.Read.Groups, "a queue gives each message to one consumer, so there are no groups; leave it out")
	bad.refuse(p.Load.Transaction > 0, "transaction-duration-ms", nil, "kt makes no transactions with %s", system)
	bad.refuse(p.Load.StopAtDisk > 0, "stop-at-disk", nil, "kt does not see the disks of %s: --num-records or --duration bounds what is written", system)
	bad.refuse(p.Load.UntilFull, "until-full", nil, "kt does not see the disks of %s", system)
	bad.refuse(p.Read.Mirror, "mirror", nil, "it is for copies of Kafka's topics")
	bad.refuse(len(p.Payload.Headers) > 0, "header", nil, "kt sends no headers with %s", system)
}

func (l *Load) check(bad *problems) {
	w, s := l.Warmup, l.StopAtDisk
	bad.refuse(l.Records < 0, "num-records", l.Records, "it must be 1 or more")
	bad.refuse(l.Duration < 0, "duration", l.Duration, "it must be above 0")
	if bounds := l.Rate.Bounds(); len(bounds) > 0 {
		end := Duration(bounds[len(bounds)-1])
		bad.refuse(l.Duration < 1 || l.Duration > end, "duration", l.Duration, "the stages of --rate last %s; give at most that, or leave it out", end)
	}
	bad.refuse(w.Records < 0, "warmup", w.Records, "it must be 0 or more")
	bad.refuse(w.Duration < 0, "warmup", w.Duration, "it must be 0 or more")
	bad.refuse(w.Records > 0 && l.Records > 0 && w.Records >= l.Records, "warmup", w.Records, "it must be below --num-records %d, or nothing is left to measure", l.Records)
	bad.refuse(w.Duration > 0 && l.Duration > 0 && w.Duration >= l.Duration, "warmup", w.Duration, "it must be shorter than the load of %s, or nothing is left to measure", l.Duration)
	bad.refuse(l.Arrivals != Uniform && l.Arrivals != Poisson, "arrivals", l.Arrivals, "it must be uniform or poisson")
	bad.refuse(l.Arrivals == Poisson && l.Rate.IsUnlimited(), "arrivals", "poisson", "it needs a target --rate")
	bad.refuse(!(s >= 0 && s < 1) || s > 0 && l.UntilFull, "stop-at-disk", s, "it must be from 1%% to 100%%, and no --until-full beside it")
	bad.refuse(l.Transaction < 0, "transaction-duration-ms", l.Transaction.Std().Milliseconds(), "it must be 1 or more")
}

func (p *Payload) check(bad *problems) {
	switch p.Kind {
	case Letters, Mixed:
		least, all := p.Size.Min()
		if !all { // only some of a normal distribution
			least = p.Size.Max()
		}
		bad.refuse(p.Size.IsZero(), "record-size", nil, "it must be 1 byte or more")
		bad.refuse(p.Stamp && least < StampBytes, "record-size", p.Size, "kt writes a stamp of %d bytes into each record here, so records must be at least as large", StampBytes)
	case File, Template, Monotonic:
	default:
		bad.refuse(true, "", nil, "payload kind %q: it must be letters, mixed, file, template or monotonic", p.Kind)
	}
	bad.refuse(p.Whole && p.Kind != File, "payload-whole", nil, "it needs a --payload-file")
	bad.refuse(!(p.Compressibility >= 0 && p.Compressibility <= 1), "compressibility", p.Compressibility, "it must be from 0 (random) to 1 (all the same)")
	switch p.Keys {
	case NoKeys:
		bad.refuse(p.KeyRange != 0, "record-key-range", p.KeyRange, "it needs --key-distribution range, random or zipf:S")
	case RangeKeys, RandomKeys:
		bad.refuse(p.KeyRange < 1, "key-distribution", p.Keys, "it needs --record-key-range of 1 or more")
	default:
		err := CheckKeys(string(p.Keys))
		bad.refuse(err != nil, "key-distribution", p.Keys, "%w", err)
		bad.refuse(err == nil && (p.KeyRange < 1 || p.KeyRange > MaxZipfKeys), "key-distribution", p.Keys, "it needs --record-key-range from 1 to %d", int64(MaxZipfKeys))
	}
}

// maxGroups keeps a slip of the keyboard from loading a cluster with groups.
const maxGroups = 100

func (r *Read) check(bad *problems) {
	bad.refuse(r.Consumers < 1 || r.Consumers > MaxClients, "consumers", r.Consumers, "it must be from 1 to %d", MaxClients)
	bad.refuse(r.Groups < 0 || r.Groups > maxGroups, "groups", r.Groups, "it must be from 1 to %d", maxGroups)
	bad.refuse(r.Groups > 1 && r.Group == "", "groups", r.Groups, "it needs a --group")
	bad.refuse(r.Share != nil && r.Group == "", "group-protocol", "share", "it needs a --group, and --no-group or a profile leaves it out")
	bad.refuse(r.Share != nil && r.Mode == WorkContinuous, "processing-mode", r.Mode, "in a share group the client acknowledges all records of a poll at the next one: leave it out")
	bad.refuse(r.Share != nil && r.Mirror, "mirror", nil, "a share group has no order to check: leave --group-protocol share out")
	bad.refuse(r.Repartitioned && !r.Mirror, "repartitioned", nil, "it goes with --mirror")
	_, err := r.Pattern()
	bad.refuse(err != nil, "include", r.Include, "%w", err)
	bad.refuse(r.From.Offset < 0, "from", r.From, "an offset is 0 or more")
	bad.refuse(r.Threads < 0 || r.Threads > MaxClients, "processing-threads", r.Threads, "it must be from 1 to %d", MaxClients)
	bad.refuse(r.Threads > MaxThreads/max(1, r.Clients()), "processing-threads", r.Threads, "%d consumers may have %d threads in all", r.Clients(), MaxThreads)
	bad.refuse(r.Mode != "" && r.Mode != WorkBlocking && r.Mode != WorkContinuous, "processing-mode", r.Mode, "it must be %s or %s", WorkBlocking, WorkContinuous)
	bad.refuse(r.OrderedBy != "" && r.OrderedBy != "key", "ordered-by", r.OrderedBy, "it must be key")
	bad.refuse(r.Processing.IsZero() && r.Threads > 1, "processing-threads", r.Threads, "it needs a --processing-time")
	bad.refuse(r.Processing.IsZero() && r.Mode == WorkContinuous, "processing-mode", r.Mode, "it needs a --processing-time")
	bad.refuse(r.Workers() == 1 && r.OrderedBy != "", "ordered-by", r.OrderedBy, "it needs a --processing-time and --processing-threads of 2 or more: one thread keeps the order")
	bad.refuse(r.Timeout < 0, "timeout", r.Timeout, "it must be 0 or more")
	switch r.Commit {
	case CommitNone, CommitAuto, CommitSync, CommitAsync:
		bad.refuse(r.Commit != CommitNone && r.Group == "", "commit", r.Commit, "it needs a --group")
	default:
		bad.refuse(true, "commit", r.Commit, "it must be none, auto, sync or async")
	}
}

// check refuses what is no part of a load: a peer may send any.
func (s Share) check(bad *problems, p *Plan) {
	if s.IsZero() {
		return
	}
	switch {
	case s.Producer < 0 || s.Producers > MaxClients || s.Producer > s.Producers-p.Producers,
		s.Consumer < 0 || s.Consumers > MaxClients || s.Consumer > s.Consumers-p.Read.Consumers,
		s.Slots < 0 || s.Slots > MaxClients || s.Slot < 0 || s.Slots > 0 && s.Slot >= s.Slots || s.Slots == 0 && s.Slot != 0:
		*bad = append(*bad, fmt.Errorf("share %+v: it is no part of a load", s))
	}
}

// Problem is what is wrong with the value of a flag, wherever that value stands.
type Problem struct {
	Flag   string // without dashes; "": of several, or of none
	Value  string // as it is shown; "": there is nothing to show
	Source string // FILE, a variable, a profile or a cluster; "": the command line
	Line   int    // of the file; 0: it has none
	Why    string // of no Flag the whole sentence

	sentence bool // Why names the flag
	err      error
}

// About returns the problem of a value in a sentence that names its flag.
func About(flag string, err error) *Problem {
	return &Problem{Flag: flag, Why: err.Error(), sentence: true, err: err}
}

// Refuse returns the problem of a value. Text that is no number is shown in quotes, and nil not at all.
func Refuse(flag string, value any, why string, args ...any) *Problem {
	err := fmt.Errorf(why, args...)
	p := &Problem{Flag: flag, Why: err.Error(), err: err}
	if value != nil {
		p.Value = fmt.Sprint(value)
		if _, err := ParseNumber(p.Value); err != nil && reflect.TypeOf(value).Kind() == reflect.String {
			p.Value = strconv.Quote(p.Value)
		}
	}
	return p
}

// At returns the problem of a Java property, which what names.
func At(source, what, why string, args ...any) *Problem {
	err := fmt.Errorf(why, args...)
	return (&Problem{Value: what, Why: err.Error(), sentence: true, err: err}).From(source)
}

// From returns the problem with the source of the value: FILE:LINE, or what else names it.
func (p Problem) From(source string) *Problem {
	p.Source, p.Line = source, 0
	if at := strings.LastIndexByte(source, ':'); at > 0 {
		if line, err := strconv.Atoi(source[at+1:]); err == nil {
			p.Source, p.Line = source[:at], line
		}
	}
	return &p
}

// Of returns the problem with its place at the beginning, as one of a command; "": of none.
func (p Problem) Of(command string) *Problem {
	p.Why, p.Flag, p.Value, p.sentence = p.Text(), "", "", false
	if command != "" {
		p.Why = command + ": " + p.Why
	}
	return &p
}

// Place returns where the value stands; "": on the command line.
func (p *Problem) Place() string {
	if p.Line > 0 {
		return p.Source + ":" + strconv.Itoa(p.Line)
	}
	return p.Source
}

// Error names the place, the flag and the value.
func (p *Problem) Error() string {
	place := p.Place()
	switch {
	case p.Flag == "" && p.sentence && place != "":
		return p.Value + " (from " + place + "): " + p.Why
	case place != "":
		return place + ": " + p.Text()
	case p.Flag != "" && !p.sentence:
		return "--" + p.Text()
	}
	return p.Text()
}

// Text returns the problem without its place.
func (p *Problem) Text() string {
	switch {
	case p.Flag != "" && p.sentence && p.Source != "": // a file and a variable have no dashes
		return strings.TrimPrefix(p.Why, "--")
	case p.Flag != "" && p.sentence, p.Flag+p.Value == "":
		return p.Why
	}
	return strings.TrimSpace(p.Flag+" "+p.Value) + ": " + p.Why
}

// Unwrap returns the reason.
func (p *Problem) Unwrap() error { return p.err }
