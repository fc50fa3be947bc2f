package ledger

import (
	"cmp"
	"slices"
	"time"
)

// reach is how far apart two records of a lane may be in the wrong order: no producer has more outstanding.
const reach = 50_000

// compare returns the fate of the records of one lane in one reading.
//
// Where every set is exact, this is arithmetic on sets. Where one has holes, the
// numbers around them are a zone, of which only counts are known: if a of the N
// numbers in it were acknowledged and m are missing, at least a-m were read and at
// least a-(N-m) lost.
func (b *Book) compare(l *Lane, log *Log) Verdict {
	rl := cmp.Or(log.lane(l.Producer), &readLane{first: l.Issued, offset: -1})
	gaps := rl.gaps
	if rl.next < l.Issued {
		gaps = append(gaps[:len(gaps):len(gaps)], gap{Range: Range{From: rl.next, To: l.Issued}, before: rl.offset, after: -1, dueBefore: rl.due})
	}
	missing := make(Ranges, len(gaps))
	for i := range gaps {
		missing[i] = gaps[i].Range
	}
	c := comparison{lane: l, gaps: gaps, unseen: b.unseen(l, log, rl)}
	if b.Mirror && (log.begin == 0 || rl.offset >= 0) && rl.offset >= log.skipped {
		c.behind = Ranges{{From: rl.next, To: max(rl.next, l.Issued)}}
	}
	zones := Ranges{{To: l.Forgotten}} // the forgotten numbers, and where some set has holes
	for _, r := range slices.Concat(l.Acknowledged, l.Failed, l.Aborted, missing) {
		if !r.exact() {
			zones = append(zones, r)
		}
	}
	c.zones = union(zones)
	c.exactly(missing, rl.next)
	for _, z := range c.zones {
		c.inZone(z, missing)
	}
	if log.unconfirmed {
		c.Unchecked += c.AcknowledgedRead
		c.AcknowledgedRead, c.Unconfirmed = 0, c.AcknowledgedRead
	}
	c.provable(log, rl)
	return c.Verdict
}

// unseen returns the numbers that may lie at offsets that were not looked at: before the first one read, after the last, and in
// gaps across offsets that were skipped. Where the client may write in the wrong order, so may their neighbours.
func (b *Book) unseen(l *Lane, log *Log, rl *readLane) Ranges {
	end := max(l.Issued, rl.next)
	if log.unfinished {
		return Ranges{{From: 0, To: end}}
	}
	var far int64
	if b.unordered() || b.Repartitioned {
		far = reach
		if log.skipped >= 0 {
			return Ranges{{From: 0, To: end}}
		}
	}
	late := log.begin < 0 || log.begin > b.StartOffset(l.Partition)
	if b.Headers && l.Issued > sequences && (late || log.skipped >= 0) {
		return Ranges{{From: 0, To: end}} // which of the records with the same sequence were read is not known
	}
	var set Ranges
	if late {
		set = append(set, Range{From: 0, To: rl.first + far})
	}
	next := log.nextOffset()
	atEnd := log.end >= 0 && next >= log.end || l.LastOffset >= 0 && next > l.LastOffset
	if n := len(l.Acknowledged); b.Mirror && n > 0 { // which may not have all records yet: what lies behind those read is not known
		atEnd = atEnd && l.Acknowledged[n-1].To <= rl.next
	}
	if !atEnd || rl.offset < log.skipped {
		set = append(set, Range{From: rl.next - far, To: end})
	}
	for i := range rl.gaps {
		if g := &rl.gaps[i]; g.skipped {
			set = append(set, Range{From: g.From, To: g.To})
		}
	}
	return union(set)
}

// comparison is a lane that is being compared.
type comparison struct {
	Verdict
	lane   *Lane
	gaps   []gap // of the reading, with the numbers after the last one read
	unseen Ranges
	behind Ranges // the last one read, in a mirror
	zones  Ranges
}

// exactly accounts for the numbers outside the zones; next is above the highest that was read.
func (c *comparison) exactly(missing Ranges, next int64) {
	l := c.lane
	absent := subtract(missing.exact(), c.zones)
	acked := subtract(l.Acknowledged.exact(), c.zones)
	failed := subtract(l.Failed.exact(), c.zones)
	aborted := intersect(acked, l.Aborted.exact())
	due := subtract(acked, aborted) // what should have been read
	notRead := intersect(due, absent)
	lost := subtract(notRead, c.unseen)

	c.Aborted += aborted.Count()
	c.AbortedRead += aborted.Count() - intersect(aborted, absent).Count()
	c.AcknowledgedRead += due.Count() - notRead.Count()
	c.Lost += lost.Count()
	c.Unchecked += notRead.Count() - lost.Count()
	c.NotCopied += intersect(subtract(notRead, lost), c.behind).Count()
	failedRead := failed.Count() - intersect(failed, absent).Count()
	c.Resurrected += failedRead

	found := func(from, to int64) int64 {
		all := subtract(Ranges{{From: from, To: to}}, c.zones)
		return all.Count() - intersect(all, absent).Count()
	}
	ackedRead := c.AcknowledgedRead + c.AbortedRead
	c.UnknownRead += found(0, l.Issued) - ackedRead - failedRead
	if next > l.Issued {
		c.Unissued += found(l.Issued, next)
	}
	c.list(lost)
}

// inZone accounts for the numbers of a zone. What its counts do not prove is undecided.
func (c *comparison) inZone(z Range, missing Ranges) {
	l := c.lane
	acked, failed := within(l.Acknowledged, z), within(l.Failed, z)
	unknown := min(z.To, l.Issued) - z.From - acked - failed
	most := within(missing, z) // that may be missing
	least := most
	first, last := -1, -1
	for i := range c.gaps {
		if g := &c.gaps[i]; g.From < z.To && z.From < g.To {
			least -= g.unsure
			last = i
			if first < 0 {
				first = i
			}
		}
	}
	c.Inexact = true
	c.Resurrected += max(0, failed-most)
	c.UnknownRead += max(0, unknown-most)
	if within(l.Aborted, z) > 0 { // any of them may be those that were acknowledged
		c.Undecided += acked
		return
	}
	read, lost := max(0, acked-most), max(0, acked-(z.To-z.From-least))
	if z.From < l.Forgotten || len(intersect(c.unseen, Ranges{z})) > 0 {
		lost = 0
	}
	c.AcknowledgedRead += read
	c.Lost += lost
	c.Undecided += acked - read - lost
	if lost > 0 {
		before, after := &c.gaps[first], &c.gaps[last]
		c.gap(z.From, z.To-1, lost, before, after)
	}
}

// within returns how many numbers of the set lie in a zone, or in a part of a range without holes.
func within(rs Ranges, z Range) int64 {
	var n int64
	for _, r := range rs {
		switch {
		case r.To <= z.From || r.From >= z.To:
		case r.exact():
			n += min(r.To, z.To) - max(r.From, z.From)
		default: // it is part of the zone
			n += r.Count()
		}
	}
	return n
}

// provable finds the one record that is lost beyond doubt wherever the reader could not look: the last of the lane that was
// acknowledged. It was passed over, or the log ends before it.
func (c *comparison) provable(log *Log, rl *readLane) {
	l := c.lane
	if c.Lost > 0 || c.Undecided > 0 || c.Unchecked == 0 || log.unfinished || len(l.Aborted) > 0 {
		return
	}
	looked := log.begin >= 0 && l.LastOffset >= max(log.begin, log.skipped) && l.LastOffset < log.nextOffset()
	switch {
	case log.end >= 0 && l.LastOffset >= log.end:
	case !looked || rl.offset >= l.LastOffset || log.unconfirmed:
		return
	}
	c.Lost++
	c.Unchecked--
	if len(c.gaps) == 0 || log.unconfirmed { // it may have been read before the log was cut off
		none := &gap{before: -1, after: -1}
		c.gap(0, l.Issued-1, 1, none, none)
		return
	}
	last := &c.gaps[len(c.gaps)-1]
	c.gap(c.gaps[0].From, last.To-1, 1, &c.gaps[0], last)
}

// list adds the lost numbers, each to the gap that it is in.
func (c *comparison) list(lost Ranges) {
	for i := range c.gaps {
		g := &c.gaps[i]
		if in := intersect(lost, Ranges{g.Range}); len(in) > 0 {
			c.gap(in[0].From, in[len(in)-1].To-1, in.Count(), g, g)
		}
	}
}

func (c *comparison) gap(first, last, count int64, before, after *gap) {
	g := Gap{First: first, Last: last, Count: count, OffsetBefore: before.before, OffsetAfter: after.after}
	if g.OffsetBefore >= 0 {
		g.DueBefore = time.Unix(0, before.dueBefore).UTC()
	}
	if g.OffsetAfter >= 0 {
		g.DueAfter = time.Unix(0, after.dueAfter).UTC()
	}
	c.Gaps = append(c.Gaps, g)
}
