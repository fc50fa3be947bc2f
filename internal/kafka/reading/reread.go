package reading

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/ledger"
)

// A reader may have read records that no log holds any more. After an unclean election, a
// replica without the newest records is the leader. All replicas truncate their logs to its
// end, and new records get the offsets of the lost ones.
//
//	read       0 … 59 by leader epoch 1, 60 … 99 by leader epoch 1
//	in the log 0 … 59 by leader epoch 1, 60 … 129 by leader epoch 2
//
// A client does not notice this if its offset exists at the new leader. So after the run, the
// brokers are asked for the ends of the leader epochs that were read. Two logs that agree in the
// last record of an epoch agree in all records before it (KIP-101). A partition whose log does
// not agree with the records read is read again.

// maxReadings is how often a partition is read again: its log may be truncated once more meanwhile.
const maxReadings = 3

// rereadIdle is the time without a record that ends reading again, if the plan has no timeout.
const rereadIdle = 30 * time.Second

type portion struct {
	group  int
	number int32
	from   int64 // least offset of the run's records
	leader int32 // epoch of the leader at the begin of reading again; -1: it was not read again
}

// Readers returns the records read for verification, for each group. Call it after the run. Partitions whose logs were
// truncated below a reader's position are read again, until ctx ends. An error names partitions whose logs are unknown: there
// no record counts as read, and records that were not reached count as unchecked.
func (d *State) Readers(ctx context.Context) ([]*ledger.Reader, error) {
	var all []portion
	for g := range d.Books {
		for number := range int32(d.Layout.Count()) {
			p := portion{group: g, number: number, leader: -1}
			p.from = min(d.Book.StartOffset(number), d.log(p).First())
			all = append(all, p)
		}
	}
	cut, err := d.confirm(ctx, all)
	if len(cut) > 0 && d.Again != nil {
		d.Again(len(cut))
	}
	for try := 0; len(cut) > 0 && try < maxReadings && ctx.Err() == nil; try++ {
		failed := d.readAgain(ctx, cut)
		var unknown error
		cut, unknown = d.confirm(ctx, cut)
		err = errors.Join(err, failed, unknown)
		if failed != nil {
			break
		}
	}
	for _, p := range cut {
		d.log(p).Unconfirmed()
	}
	compacted := d.Cluster.CompactedSince(ctx, d.Layout)
	for i := 0; compacted != nil && i < len(all); i++ {
		d.Books[all[i].group].Unfinished(all[i].number)
	}
	return d.Books, errors.Join(err, compacted)
}

func (d *State) log(p portion) *ledger.Log { return d.Books[p.group].Log(p.number) }

// confirm returns the portions that the logs no longer hold. Without an answer, no record of a portion counts as read.
func (d *State) confirm(ctx context.Context, portions []portion) (cut []portion, err error) {
	if len(portions) == 0 {
		return nil, nil
	}
	ctx = context.WithoutCancel(ctx) // an aborted run has a result too
	ends, epochs, err := d.Cluster.LastOffsets(ctx, d.Layout)
	if err != nil {
		err = fmt.Errorf("find the last offsets: %w", err)
	}
	questions := make(map[kafka.LeaderEpoch]bool)
	tips := make([][]ledger.Tip, len(portions))
	known := make([]bool, len(portions)) // to be truncated
	for i, p := range portions {
		tips[i], known[i] = d.log(p).Tips()
		if ends[p.number] < 0 {
			continue // without a leader; waiting for one would use up the time of the others
		}
		for _, tip := range tips[i] {
			questions[kafka.LeaderEpoch{Number: p.number, Epoch: tip.Epoch}] = true
		}
		if epoch := d.Book.StartEpoch(p.number); epoch >= 0 {
			questions[kafka.LeaderEpoch{Number: p.number, Epoch: epoch}] = true
		}
	}
	asking, cancel := context.WithTimeout(ctx, kafka.ConfirmTimeout)
	defer cancel()
	answers, unanswered := d.Cluster.EpochEnds(asking, d.Layout, slices.Collect(maps.Keys(questions)))
	if unanswered != nil {
		err = errors.Join(err, fmt.Errorf("find the last offsets of earlier leaders: %w", unanswered))
	}
	for i, p := range portions {
		d.Books[p.group].ReadTo(p.number, d.At.Groups[p.group].At(p.number).Next.Load(), ends[p.number])
		held, asked := true, true
		start, ok := answers[kafka.LeaderEpoch{Number: p.number, Epoch: d.Book.StartEpoch(p.number)}]
		if ok && start.Offset >= 0 && start.Offset < p.from && !d.IsElsewhere(p.number) {
			held, p.from = false, start.Offset // all records of the run lie behind it
		}
		if p.leader >= 0 && p.leader == epochs[p.number] {
			tips[i] = nil // read again from one leader, whose log is not truncated
		}
		for _, tip := range tips[i] {
			answer, ok := answers[kafka.LeaderEpoch{Number: p.number, Epoch: tip.Epoch}]
			asked = asked && ok
			held = held && (!ok || answer.Epoch == tip.Epoch && answer.Offset > tip.Offset)
		}
		switch {
		case known[i] || !held:
			cut = append(cut, p)
		case !asked:
			d.log(p).Unconfirmed()
		}
	}
	return cut, err
}

// readAgain reads portions again, up to the ends of the logs now. Those without a known start or end are left out.
func (d *State) readAgain(ctx context.Context, portions []portion) error {
	begins, err := d.Cluster.LogStarts(ctx, d.Layout)
	ends, epochs, noEnds := d.Cluster.LogEnds(ctx, d.Layout)
	if d.Settings.ReadCommitted() {
		ends, noEnds = d.Cluster.EndOffsets(ctx, d.Layout, true)
	}
	if err = errors.Join(err, noEnds); err != nil {
		err = fmt.Errorf("find the offsets to read again: %w", err)
	}
	left := make(map[int]map[int32]int64) // by group: the ends of partitions that are not read to their end yet
	for i := range portions {
		p := &portions[i]
		if begins[p.number] < 0 || ends[p.number] < 0 {
			continue
		}
		p.leader = epochs[p.number]
		begin := d.log(*p).Again(p.from, begins[p.number])
		d.At.Groups[p.group].At(p.number).Next.Store(begin)
		if begin >= ends[p.number] {
			continue
		}
		if left[p.group] == nil {
			left[p.group] = make(map[int32]int64)
		}
		left[p.group][p.number] = ends[p.number]
	}
	idle := cmp.Or(d.Plan.Read.Timeout.Std(), rereadIdle)
	failed := make([]error, len(d.Books)) // by group
	var groups sync.WaitGroup
	for group, ends := range left {
		groups.Go(func() {
			failed[group] = d.Reread(ctx, d, group, ends, idle)
			if failed[group] == nil && len(ends) > 0 {
				failed[group] = fmt.Errorf("no record came for %s, and %d partitions were not read to their end", idle, len(ends))
			}
		})
	}
	groups.Wait()
	if ctx.Err() != nil {
		return errors.Join(err, ctx.Err())
	}
	for _, failed := range failed {
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("read again: %w", failed))
		}
	}
	return err
}

// LostData reports whether a fetch failed because the log was truncated.
func LostData(err error) bool {
	var loss *kgo.ErrDataLoss
	return errors.As(err, &loss)
}
