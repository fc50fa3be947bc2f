package plan

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The largest values that a plan may hold. They are far above what anyone needs
// and keep a slip of the keyboard from taking a cluster or this machine down.
const (
	MaxClients    = 1000    // producers, and consumers of one group
	MaxPartitions = 100_000 // of a topic that kt makes; a larger one is read as it is, and may grow no further in the run
)

// topicName matches the names that Kafka accepts (org.apache.kafka.common.internals.Topic).
var topicName = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

// CheckTopic returns an error unless Kafka takes a topic of that name.
func CheckTopic(name string) error {
	if !topicName.MatchString(name) || name == "." || name == ".." {
		return errors.New("a topic name has 1 to 249 letters, digits, '.', '_' or '-'")
	}
	return nil
}

// Validate reports everything that is wrong with the plan by itself, each
// problem naming its flag. It does not ask a broker.
func (p *Plan) Validate() error {
	var errs []error
	bad := func(flag string, value any, why string, args ...any) {
		errs = append(errs, Refuse(flag, value, why, args...))
	}

	if !slices.Contains(Engines, p.Engine) {
		bad("engine", p.Engine, "it must be one of %q", Engines)
	}
	errs = append(errs, p.validateURL()...)
	errs = append(errs, p.validateTopic()...)
	errs = append(errs, p.Load.validate()...)
	if err := p.Share.validate(p); err != nil {
		errs = append(errs, err)
	}
	if p.Command == Consume {
		errs = append(errs, p.validateConsume()...)
	} else {
		if n := p.Producers; n < 1 || n > MaxClients {
			bad("producers", n, "it must be from 1 to %d", MaxClients)
		}
		errs = append(errs, p.Payload.validate()...)
	}
	if p.Command == Roundtrip && p.Engine == Wire {
		bad("engine", p.Engine, "kt %s has the client engine only", p.Command)
	}
	if p.Command != Produce {
		errs = append(errs, p.Read.validate()...)
	}
	if p.Load.UntilFull && p.Embedded() {
		bad("until-full", nil, "the broker inside kt keeps its log in memory; name a cluster with --bootstrap-server")
	}
	if p.Load.OneAtATime {
		if p.Producers != 1 || p.Read.Clients() != 1 {
			bad("one-at-a-time", nil, "it takes one producer and one consumer")
		}
		if !p.Load.Rate.IsUnlimited() {
			bad("one-at-a-time", nil, "each record waits for the one before, so there is no --rate to keep")
		}
	}
	return errors.Join(errs...)
}

func (p *Plan) validateTopic() []error {
	var errs []error
	bad := func(flag string, value any, why string, args ...any) {
		errs = append(errs, Refuse(flag, value, why, args...))
	}
	name, include := p.Topic.Name, p.Read.Include
	switch {
	case include != "" && p.Command != Consume:
		bad("include", include, "kt %s reads the topic that it writes to", p.Command)
	case include != "" && name != "":
		bad("", nil, "--include and --topic exclude each other: give one")
	case include != "" && p.Verify:
		bad("include", include, "a ledger is of one topic")
	case name == "" && p.Command == Consume && (include != "" || p.Verify): // the pattern or the ledger tells
	case name == "" && p.Command == Consume:
		errs = append(errs, About("topic", errors.New("--topic or --include: give one, to name the topics to read")))
	default:
		if err := CheckTopic(name); err != nil {
			bad("topic", name, "%w", err)
		}
	}
	if n := p.Topic.Partitions; n < 0 || n > MaxPartitions {
		bad("partitions", n, "it must be from 1 to %d", MaxPartitions)
	}
	if n := p.Topic.ReplicationFactor; n < 0 {
		bad("replication-factor", n, "it must be 1 or more")
	}
	return errs
}

// validateConsume returns what holds where nothing is written: there is no payload, and
// no record is due before it was read.
func (p *Plan) validateConsume() []error {
	var errs []error
	bad := func(flag string, value any, why string) { errs = append(errs, Refuse(flag, value, "%s", why)) }
	if p.Producers != 0 {
		bad("producers", p.Producers, "kt consume writes nothing")
	}
	if p.Load.Rate.Bytes {
		bad("rate", p.Load.Rate, "reading is held to a number of records a second (50000), not of bytes")
	}
	if p.Load.Arrivals == Poisson {
		bad("arrivals", "poisson", "it is for records that are written")
	}
	if p.Load.Transaction != 0 {
		bad("transaction-duration-ms", nil, "kt consume writes nothing")
	}
	return errs
}

func (l *Load) validate() []error {
	var errs []error
	bad := func(flag string, value any, why string, args ...any) {
		errs = append(errs, Refuse(flag, value, why, args...))
	}
	if l.Records < 0 {
		bad("num-records", l.Records, "it must be 1 or more")
	}
	if l.Duration < 0 {
		bad("duration", l.Duration, "it must be above 0")
	}
	if err := l.Rate.validate(l.Duration); err != nil {
		errs = append(errs, err)
	}
	w := l.Warmup
	switch {
	case w.Records < 0:
		bad("warmup", w.Records, "it must be 0 or more")
	case w.Duration < 0:
		bad("warmup", w.Duration, "it must be 0 or more")
	case w.Records > 0 && l.Records > 0 && w.Records >= l.Records:
		bad("warmup", w.Records, "it must be below --num-records %d, or nothing is left to measure", l.Records)
	case w.Duration > 0 && l.Duration > 0 && w.Duration >= l.Duration:
		bad("warmup", w.Duration, "it must be shorter than the load of %s, or nothing is left to measure", l.Duration)
	}
	if l.Arrivals != Uniform && l.Arrivals != Poisson {
		bad("arrivals", l.Arrivals, "it must be uniform or poisson")
	}
	if l.Arrivals == Poisson && l.Rate.IsUnlimited() {
		bad("arrivals", "poisson", "it needs a target --rate")
	}
	if s := l.StopAtDisk; !(s >= 0 && s < 1) || s > 0 && l.UntilFull {
		bad("stop-at-disk", s, "it must be from 1%% to 100%%, and no --until-full beside it")
	}
	if l.Transaction < 0 {
		bad("transaction-duration-ms", l.Transaction.Std().Milliseconds(), "it must be 1 or more")
	}
	return errs
}

func (p *Payload) validate() []error {
	var errs []error
	bad := func(flag string, value any, why string, args ...any) {
		errs = append(errs, Refuse(flag, value, why, args...))
	}
	switch p.Kind {
	case Letters, Mixed:
		if p.Size.IsZero() {
			bad("record-size", nil, "it must be 1 byte or more")
		}
		if p.Stamp && !p.Size.holds(StampBytes) {
			bad("record-size", p.Size, "kt writes a stamp of %d bytes into each record here, so records must be at least as large", StampBytes)
		}
	case File, Monotonic:
	default:
		bad("", nil, "payload kind %q: it must be letters, mixed, file or monotonic", p.Kind)
	}
	if c := p.Compressibility; !(c >= 0 && c <= 1) {
		bad("compressibility", c, "it must be from 0 (random) to 1 (all the same)")
	}
	switch p.Keys {
	case NoKeys:
		if p.KeyRange != 0 {
			bad("record-key-range", p.KeyRange, "it needs --key-distribution range or random")
		}
	case RangeKeys, RandomKeys:
		if p.KeyRange < 1 {
			bad("key-distribution", p.Keys, "it needs --record-key-range of 1 or more")
		}
	default:
		bad("key-distribution", p.Keys, "it must be none, range or random")
	}
	return errs
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
	if p.Flag == "" && p.sentence && place != "" {
		return p.Value + " (from " + place + "): " + p.Why
	}
	if place != "" {
		return place + ": " + p.Text()
	}
	if p.Flag != "" && !p.sentence {
		return "--" + p.Text()
	}
	return p.Text()
}

// Text returns the problem without its place.
func (p *Problem) Text() string {
	switch {
	case p.Flag == "" && p.Value != "":
		return p.Value + ": " + p.Why
	case p.Flag != "" && p.sentence && p.Source != "": // a file and a variable have no dashes
		return strings.TrimPrefix(p.Why, "--")
	case p.Flag == "", p.sentence:
		return p.Why
	case p.Value == "":
		return p.Flag + ": " + p.Why
	}
	return p.Flag + " " + p.Value + ": " + p.Why
}

// Unwrap returns the reason.
func (p *Problem) Unwrap() error { return p.err }
