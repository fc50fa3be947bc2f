package plan

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
)

// The largest values that a plan may hold. They are far above what anyone needs
// and keep a slip of the keyboard from taking a cluster or this machine down.
const (
	maxClients    = 1000    // producers, and consumers of one group
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
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }

	if !slices.Contains(Engines, p.Engine) {
		bad("--engine %q: it must be one of %q", p.Engine, Engines)
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
		if n := p.Producers; n < 1 || n > maxClients {
			bad("--producers %d: it must be from 1 to %d", n, maxClients)
		}
		errs = append(errs, p.Payload.validate()...)
	}
	if p.Command == Roundtrip && p.Engine == Wire {
		bad("--engine %s: kt %s has the client engine only", p.Engine, p.Command)
	}
	if p.Command != Produce {
		errs = append(errs, p.Read.validate()...)
	}
	if p.Load.UntilFull && p.Embedded() {
		bad("--until-full: the broker inside kt keeps its log in memory; name a cluster with --bootstrap-server")
	}
	if p.Load.OneAtATime {
		if p.Producers != 1 || p.Read.Clients() != 1 {
			bad("--one-at-a-time: it takes one producer and one consumer")
		}
		if !p.Load.Rate.IsUnlimited() {
			bad("--one-at-a-time: each record waits for the one before, so there is no --rate to keep")
		}
	}
	return errors.Join(errs...)
}

func (p *Plan) validateTopic() []error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	name, include := p.Topic.Name, p.Read.Include
	switch {
	case include != "" && p.Command != Consume:
		bad("--include %q: kt %s reads the topic that it writes to", include, p.Command)
	case include != "" && name != "":
		bad("--include and --topic exclude each other: give one")
	case include != "" && p.Verify:
		bad("--include %q: a ledger is of one topic", include)
	case name == "" && p.Command == Consume && (include != "" || p.Verify): // the pattern or the ledger tells
	case name == "" && p.Command == Consume:
		bad("--topic or --include: give one, to name the topics to read")
	default:
		if err := CheckTopic(name); err != nil {
			bad("--topic %q: %w", name, err)
		}
	}
	if n := p.Topic.Partitions; n < 0 || n > MaxPartitions {
		bad("--partitions %d: it must be from 1 to %d", n, MaxPartitions)
	}
	if n := p.Topic.ReplicationFactor; n < 0 {
		bad("--replication-factor %d: it must be 1 or more", n)
	}
	return errs
}

// validateConsume returns what holds where nothing is written: there is no payload, and
// no record is due before it was read.
func (p *Plan) validateConsume() []error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if p.Producers != 0 {
		bad("--producers %d: kt consume writes nothing", p.Producers)
	}
	if p.Load.Rate.Bytes {
		bad("--rate %s: reading is held to a number of records a second (50000), not of bytes", p.Load.Rate)
	}
	if p.Load.Arrivals == Poisson {
		bad("--arrivals poisson: it is for records that are written")
	}
	if p.Load.Transaction != 0 {
		bad("--transaction-duration-ms: kt consume writes nothing")
	}
	return errs
}

func (l *Load) validate() []error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if l.Records < 0 {
		bad("--num-records %d: it must be 1 or more", l.Records)
	}
	if l.Duration < 0 {
		bad("--duration %s: it must be above 0", l.Duration)
	}
	if err := l.Rate.validate(l.Duration); err != nil {
		errs = append(errs, err)
	}
	w := l.Warmup
	switch {
	case w.Records < 0:
		bad("--warmup %d: it must be 0 or more", w.Records)
	case w.Duration < 0:
		bad("--warmup %s: it must be 0 or more", w.Duration)
	case w.Records > 0 && l.Records > 0 && w.Records >= l.Records:
		bad("--warmup %d: it must be below --num-records %d, or nothing is left to measure", w.Records, l.Records)
	case w.Duration > 0 && l.Duration > 0 && w.Duration >= l.Duration:
		bad("--warmup %s: it must be shorter than the load of %s, or nothing is left to measure", w.Duration, l.Duration)
	}
	if l.Arrivals != Uniform && l.Arrivals != Poisson {
		bad("--arrivals %q: it must be uniform or poisson", l.Arrivals)
	}
	if l.Arrivals == Poisson && l.Rate.IsUnlimited() {
		bad("--arrivals poisson: it needs a target --rate")
	}
	if s := l.StopAtDisk; !(s >= 0 && s < 1) || s > 0 && l.UntilFull {
		bad("--stop-at-disk %v: it must be from 1%% to 100%%, and no --until-full beside it", s)
	}
	if l.Transaction < 0 {
		bad("--transaction-duration-ms %d: it must be 1 or more", l.Transaction.Std().Milliseconds())
	}
	return errs
}

func (p *Payload) validate() []error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch p.Kind {
	case Letters, Mixed:
		if p.Size.IsZero() {
			bad("--record-size: it must be 1 byte or more")
		}
		if p.Stamp && !p.Size.holds(StampBytes) {
			bad("--record-size %s: kt writes a stamp of %d bytes into each record here, so records must be at least as large", p.Size, StampBytes)
		}
	case File, Monotonic:
	default:
		bad("payload kind %q: it must be letters, mixed, file or monotonic", p.Kind)
	}
	if c := p.Compressibility; !(c >= 0 && c <= 1) {
		bad("--compressibility %v: it must be from 0 (random) to 1 (all the same)", c)
	}
	switch p.Keys {
	case NoKeys:
		if p.KeyRange != 0 {
			bad("--record-key-range %d: it needs --key-distribution range or random", p.KeyRange)
		}
	case RangeKeys, RandomKeys:
		if p.KeyRange < 1 {
			bad("--key-distribution %s: it needs --record-key-range of 1 or more", p.Keys)
		}
	default:
		bad("--key-distribution %q: it must be none, range or random", p.Keys)
	}
	return errs
}
