package plan

import (
	"cmp"
	"errors"
)

// Share is the part of a load that one process makes, where several make it together.
// The zero value is all of it.
//
// A share numbers the producers and consumers of the whole load. Whatever is counted out
// to shards (records, rate, warm-up) is counted out to those of the whole load, so that
// the shares of all processes add up to exactly the load, whatever the remainders.
type Share struct {
	Producer  int `json:"first_producer"` // number of this process's first producer in the whole load, from 0
	Producers int `json:"all_producers"`
	Consumer  int `json:"first_consumer"` // the same of the consumers of each group
	Consumers int `json:"all_consumers"`

	// Slots, when not 0, divides the partitions too: this process writes and reads
	// those whose number leaves Slot when divided by Slots. Then each record is read
	// where it was written, and its latency needs one clock only.
	Slot  int `json:"partition_slot,omitempty"`
	Slots int `json:"partition_slots,omitempty"`
}

// IsZero reports whether the process makes the whole load.
func (s Share) IsZero() bool { return s == Share{} }

// Has reports whether a partition is one of the process's own.
func (s Share) Has(partition int32) bool {
	return s.Slots == 0 || int(partition)%s.Slots == s.Slot
}

// shards returns the number of this process's first producer, or of its first consumer, and how many it and all have.
func (p *Plan) shards() (first, own, all int) {
	first, own, all = p.Share.Producer, p.Producers, p.Share.Producers
	if !p.Writes() {
		// Of several groups each reads everything: the shards of one stand for all.
		first, own, all = p.Share.Consumer, p.Read.Consumers, p.Share.Consumers
	}
	return first, own, cmp.Or(all, own)
}

// Part returns which part of the whole load this process makes, from 0 to 1.
func (p *Plan) Part() float64 {
	_, own, all := p.shards()
	if all == 0 {
		return 1
	}
	return float64(own) / float64(all)
}

// Shard returns the number in the whole load of a producer of this process (0 ≤ index <
// Producers), or of a consumer of a group when nobody writes, and how many there are.
func (p *Plan) Shard(index int) (number, all int) {
	first, _, all := p.shards()
	return first + index, all
}

// Reader returns the number in the whole load of a consumer of this process, of any group (0 ≤
// index < Read.Clients), and how many there are.
func (p *Plan) Reader(index int) (number, all int) {
	own := p.Read.Consumers
	each := cmp.Or(p.Share.Consumers, own)
	return index/own*each + p.Share.Consumer + index%own, each * max(1, p.Read.Groups)
}

// ReaderOf returns the number of the consumer of this process that reads a partition without a
// group. No consumer has that number if another process reads it.
func (p *Plan) ReaderOf(partition int32) int {
	share, own := p.Share, p.Read.Consumers
	switch {
	case share.Slots > 0 && share.Has(partition):
		return int(partition) / share.Slots % own
	case share.Slots > 0:
		return -1
	case share.Consumers > 0:
		return int(partition)%share.Consumers - share.Consumer
	}
	return int(partition) % own
}

// Pacer makes the schedule of a producer of this process.
func (p *Plan) Pacer(index int) Pacer {
	number, all := p.Shard(index)
	return p.Load.Pacer(number, all, p.Payload.MeanBytes(), p.Seed)
}

// WarmupShare returns how many of the first records of a producer of this process are
// warm-up by count.
func (p *Plan) WarmupShare(index int) int64 {
	return p.Load.WarmupShare(p.Shard(index))
}

// RecordsToRead returns how many records the consumers of this process read; 0: no limit.
func (p *Plan) RecordsToRead() int64 { return p.part(p.Load.Records) }

// part returns how many records of the whole load are of this process; 0: no limit.
func (p *Plan) part(total int64) (n int64) {
	first, own, all := p.shards()
	for i := 0; i < own && total > 0; i++ {
		n += shareOf(total, first+i, all)
	}
	return n
}

// Divide shares a load out to so many processes. Each gets as many producers and
// consumers as the others, the first ones one more where that does not come out even.
// A round trip is divided by partitions too. It is an error when a process would have
// nothing to do.
func (p Plan) Divide(processes int) (parts []Plan, err error) {
	if processes < 1 || processes > MaxClients {
		return nil, Refuse("", nil, "a load is shared out to 1 to %d processes, not to %d", MaxClients, processes)
	}
	var bad problems
	both, n := p.Writes() && p.Reads(), int(p.Topic.Partitions)*len(p.Topic.Names())
	const few = "%d processes share them out; give at least %d"
	bad.refuse(p.Writes() && p.Producers < processes, "producers", p.Producers, few, processes, processes)
	bad.refuse(p.Reads() && p.Read.Consumers < processes, "consumers", p.Read.Consumers, few, processes, processes)
	bad.refuse(p.Load.OneAtATime && processes > 1, "one-at-a-time", nil, "it is one producer and one consumer, in one process")
	bad.refuse(both && n > 0 && n < processes, "partitions", n, "each of %d processes reads its own records, from partitions of its own; give at least %d", processes, processes)
	if len(bad) > 0 {
		return nil, errors.Join(bad...)
	}
	share := Share{Producers: p.Producers, Consumers: p.Read.Consumers}
	if both {
		share.Slots = processes
	}
	for i := range processes {
		part := p
		part.Producers, part.Read.Consumers = evenly(p.Producers, i, processes), evenly(p.Read.Consumers, i, processes)
		if part.Share = share; both {
			part.Share.Slot = i
		}
		parts = append(parts, part)
		share.Producer, share.Consumer = share.Producer+part.Producers, share.Consumer+part.Read.Consumers
	}
	return parts, nil
}

// Whole returns the load of which this plan is a share.
func (p Plan) Whole() Plan {
	if p.Share.IsZero() {
		return p
	}
	p.Producers, p.Read.Consumers = p.Share.Producers, p.Share.Consumers
	p.Share = Share{}
	return p
}
