package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/suggest"
	"github.com/kt-bench/kt/internal/theme"
)

// ReadTopics returns the topics that the plan reads, in the order of their names in it; those of a pattern are sorted.
func (c *Cluster) ReadTopics(ctx context.Context, p plan.Plan) ([]result.Topic, error) {
	ctx, cancel := context.WithTimeout(ctx, AdminTimeout)
	defer cancel()
	if p.Read.Include == "" {
		names := p.Topic.Names()
		topics, err := c.lookUp(ctx, names...)
		if err != nil {
			return nil, err
		}
		if none := missing(topics); len(none) > 0 {
			return nil, result.Misfit("topic %s %w%s", none[0], plan.ErrNoTopic, c.alike(ctx, none[0]))
		}
		if topics, err = c.awaitLeaders(ctx, slices.Chunk(names, manyTopics)); err != nil {
			return nil, err
		}
		c.describeConfigs(ctx, topics)
		return topics, nil
	}
	wanted, err := p.Read.Pattern()
	if err != nil {
		return nil, &result.MisfitError{Err: err}
	}
	all, err := c.admin.ListTopics(ctx)
	if err != nil {
		return nil, fmt.Errorf("list topics: %w", err)
	}
	var topics []result.Topic
	for _, d := range all.Sorted() {
		switch {
		case !wanted.MatchString(d.Topic) || errors.Is(d.Err, kerr.UnknownTopicOrPartition):
		case d.Err != nil:
			return nil, fmt.Errorf("look up topic %s: %w", d.Topic, d.Err)
		default:
			topics = append(topics, topicOf(d))
		}
	}
	if len(topics) == 0 {
		return nil, result.Misfit("--include %q matches none of the cluster's %s", p.Read.Include, theme.Plural(len(all), "topic", "topics")).About("include")
	}
	return topics, nil
}

// alike returns a hint that names the topic with the most similar name, or some of those that exist.
func (c *Cluster) alike(ctx context.Context, name string) string {
	all, err := c.admin.ListTopics(ctx)
	if err != nil {
		return ""
	}
	const shown = 5
	names := all.Names()
	if near := suggest.Nearest(name, names); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	switch n := len(names) - shown; {
	case len(names) == 0:
		return "; the cluster has no topics yet: kt produce --topic " + name + " makes it"
	case n > 0:
		return fmt.Sprintf("; the cluster has %s and %d more", strings.Join(names[:shown], ", "), n)
	}
	return "; the cluster has " + strings.Join(names, ", ")
}

// Topics returns the names of the topics that are not Kafka's own.
func (c *Cluster) Topics(ctx context.Context) []string {
	all, _ := c.admin.ListTopics(ctx) // names for completion: without an answer there are none
	return all.Names()
}

// Groups returns the names of the groups, of consumers and share groups.
func (c *Cluster) Groups(ctx context.Context) []string {
	all, _ := c.admin.ListGroups(ctx) // as of Topics
	return all.Groups()
}

// EndOffsets returns the ends of the partitions, by number. A stable end is the begin of the first open transaction.
func (c *Cluster) EndOffsets(ctx context.Context, l *Layout, stable bool) ([]int64, error) {
	list := c.admin.ListEndOffsets
	if stable {
		list = c.admin.ListCommittedOffsets
	}
	ends, _, err := listed(ctx, l, list)
	return ends, err
}

// LogEnds returns the ends of the partitions, by number, and the epochs of their leaders; -1 where they are unknown.
func (c *Cluster) LogEnds(ctx context.Context, l *Layout) (ends []int64, epochs []int32, err error) {
	return listed(ctx, l, c.admin.ListEndOffsets)
}

// LastOffsets returns the ends of the logs, by number, and the epochs of the leaders now; -1 where either is unknown. Records
// that are not replicated yet, and that nobody can read, count too. Its two requests take ConfirmTimeout each at most: a
// partition without a leader uses up the time of the first, and the others need the second.
func (c *Cluster) LastOffsets(ctx context.Context, l *Layout) (ends []int64, epochs []int32, err error) {
	listing, cancel := context.WithTimeout(ctx, ConfirmTimeout)
	defer cancel()
	ends, epochs, err = c.LogEnds(listing, l)
	var questions []LeaderEpoch
	for number, epoch := range epochs {
		if epoch >= 0 {
			questions = append(questions, LeaderEpoch{int32(number), epoch})
		}
	}
	asking, cancel := context.WithTimeout(ctx, ConfirmTimeout)
	defer cancel()
	answers, unanswered := c.EpochEnds(asking, l, questions)
	for _, q := range questions {
		if a, ok := answers[q]; ok {
			ends[q.Number] = max(ends[q.Number], a.Offset)
		} else {
			ends[q.Number] = -1 // else records behind the readable ones would look lost
		}
	}
	return ends, epochs, errors.Join(err, unanswered)
}

// Written returns how many records and transaction markers were ever written to topics: the sum of their log ends.
func (c *Cluster) Written(ctx context.Context, names []string) (sum int64, err error) {
	topics, err := c.lookUp(ctx, names...)
	if err != nil || len(missing(topics)) > 0 {
		return 0, errors.Join(err, kerr.UnknownTopicOrPartition)
	}
	ends, _, err := c.LastOffsets(ctx, NewLayout(topics))
	for _, end := range ends {
		sum += end
	}
	return sum, err
}

// ConfirmTimeout is how long the brokers may take to answer each question about what their logs hold.
const ConfirmTimeout = 10 * time.Second

// LeaderEpoch is a leader epoch of the partition with a number in a Layout.
type LeaderEpoch struct{ Number, Epoch int32 }

// EpochEnd is the offset after the last record that the leader of an epoch wrote, or that of the next lower epoch if it wrote
// none.
type EpochEnd struct {
	Epoch  int32
	Offset int64
}

// EpochEnds returns the ends of leader epochs. It asks until each question has an answer, or ctx ends.
func (c *Cluster) EpochEnds(ctx context.Context, l *Layout, questions []LeaderEpoch) (map[LeaderEpoch]EpochEnd, error) {
	answers := make(map[LeaderEpoch]EpochEnd, len(questions))
	for {
		var request kadm.OffsetForLeaderEpochRequest
		asked := make(map[int32]LeaderEpoch) // a request has one question for each partition
		for _, q := range questions {
			if _, done := answers[q]; !done {
				asked[q.Number] = q
			}
		}
		if len(asked) == 0 {
			return answers, nil
		}
		for _, p := range l.All() {
			if q, ok := asked[p.Number]; ok {
				request.Add(p.Topic, p.ID, q.Epoch)
			}
		}
		response, err := c.admin.OffsetForLeaderEpoch(ctx, request)
		before := len(answers)
		for _, p := range l.All() {
			a, ok := response[p.Topic][p.ID]
			switch {
			case !ok:
			case a.Err != nil:
				err = errors.Join(err, a.Err)
			default:
				answers[asked[p.Number]] = EpochEnd{a.LeaderEpoch, a.EndOffset}
			}
		}
		if len(answers) > before {
			continue
		}
		if err == nil {
			err = errors.New("a broker did not answer for its partitions")
		}
		if refusedForGood(err) || !Pause(ctx, listAgain) {
			return answers, plainly(err)
		}
	}
}

// LogStarts returns the first offsets of the partitions, by number.
func (c *Cluster) LogStarts(ctx context.Context, l *Layout) ([]int64, error) {
	starts, _, err := listed(ctx, l, c.admin.ListStartOffsets)
	return starts, err
}

// listed asks for offsets until all are known, because a leader that has gone has a successor soon, or ctx ends; -1: not known.
func listed(ctx context.Context, l *Layout, list func(context.Context, ...string) (kadm.ListedOffsets, error)) (at []int64, epochs []int32, err error) {
	ctx, cancel := context.WithTimeout(ctx, AdminTimeout)
	defer cancel()
	known := make(kadm.ListedOffsets)
	for {
		offsets, err := list(ctx, l.Names()...)
		if err == nil {
			err = offsets.Error()
		}
		offsets.Each(func(o kadm.ListedOffset) {
			if o.Err != nil {
				return
			}
			if known[o.Topic] == nil {
				known[o.Topic] = make(map[int32]kadm.ListedOffset)
			}
			known[o.Topic][o.Partition] = o
		})
		if err == nil || refusedForGood(err) || !Pause(ctx, listAgain) {
			at, epochs = l.byNumber(known)
			return at, epochs, plainly(err)
		}
	}
}

const listAgain = 250 * time.Millisecond

// Pause waits, and reports false when ctx ends.
func Pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return ctx.Err() == nil
	}
}

func refusedForGood(err error) bool {
	return IsAny(err, kerr.TopicAuthorizationFailed, kerr.ClusterAuthorizationFailed, kerr.UnknownTopicOrPartition)
}

// plainly returns the first of several brokers' errors, without the client's words around it.
func plainly(err error) error {
	var shards *kadm.ShardErrors
	if errors.As(err, &shards) && len(shards.Errs) > 0 {
		return fmt.Errorf("broker %d: %w", shards.Errs[0].Broker.NodeID, errorCause(shards.Errs[0].Err))
	}
	return err
}

// StartOffsets returns the offsets to read from, by number, and the first offsets of the partitions.
func (c *Cluster) StartOffsets(ctx context.Context, l *Layout, from plan.From, ends []int64) (starts, begins []int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, AdminTimeout)
	defer cancel()
	if begins, err = c.LogStarts(ctx, l); err != nil {
		return nil, nil, fmt.Errorf("find the first offsets: %w", err)
	}
	switch {
	case from.Latest:
		return ends, begins, nil
	case from.HasOffset:
		return slices.Repeat([]int64{from.Offset}, len(ends)), begins, within(l, from, begins, ends)
	case !from.Time.IsZero():
		starts, _, err = listed(ctx, l, func(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
			return c.admin.ListOffsetsAfterMilli(ctx, from.Time.UnixMilli(), topics...)
		})
		if err != nil {
			return nil, nil, fmt.Errorf("find the offsets at %s: %w", from, err)
		}
		if slices.Equal(starts, ends) {
			return nil, nil, result.Misfit("--from %s: no record is as new; give an earlier time", from).About("from")
		}
		return starts, begins, nil
	}
	return begins, begins, nil
}

func within(l *Layout, from plan.From, begins, ends []int64) error {
	var errs []error
	for n, p := range l.All() {
		if n < len(ends) && (from.Offset < begins[n] || from.Offset > ends[n]) {
			errs = append(errs, result.Misfit("--from %s: partition %d of topic %s holds offsets %d to %d", from, p.ID, p.Topic, begins[n], ends[n]).About("from"))
		}
	}
	const enough = 3
	if len(errs) > enough {
		errs = append(errs[:enough], result.Misfit("and so do %d other partitions", len(errs)-enough))
	}
	return errors.Join(errs...)
}

// TimeOf returns the timestamp of the first record from an offset on, also of one in an open transaction; zero: not known.
func (c *Cluster) TimeOf(ctx context.Context, p Place, offset int64) (at time.Time) {
	ctx, cancel := context.WithTimeout(ctx, ConfirmTimeout)
	defer cancel()
	from := map[string]map[int32]kgo.Offset{p.Topic: {p.ID: kgo.NewOffset().At(offset)}}
	client, err := c.Client(kgo.ConsumePartitions(from), kgo.KeepControlRecords(), kgo.WithContext(ctx))
	if err != nil {
		return at
	}
	defer client.Close()
	defer cancel() // first: Close alone would wait for hung brokers
	for _, r := range client.PollRecords(ctx, 1).Records() {
		at = r.Timestamp
	}
	return at
}

// CommittedOffsets returns the offsets that a group has committed, by partition number; -1 where it has none.
func (c *Cluster) CommittedOffsets(ctx context.Context, l *Layout, group string) ([]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, AdminTimeout)
	defer cancel()
	offsets, err := c.admin.FetchOffsets(ctx, group)
	for kerr.IsRetriable(err) && Pause(ctx, leaderPoll) { // __consumer_offsets may not exist before the first group
		offsets, err = c.admin.FetchOffsets(ctx, group)
	}
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		return nil, fmt.Errorf("group %s: %w", group, err)
	}
	var out []int64
	for _, p := range l.All() {
		at := int64(-1)
		if o, ok := offsets.Lookup(p.Topic, p.ID); ok && o.Err == nil {
			at = o.At
		}
		out = append(out, at)
	}
	return out, nil
}
