// Package ledger accounts for every record of a verified load test: which were
// acknowledged and read, lost, duplicated, reordered, corrupted, never answered,
// or reported failed and found in the log all the same.
//
// A value carries a [Stamp]: its producer, and its number in that producer's
// lane of the partition. A [Producer] remembers the outcome of each number as
// intervals, a [Reader] the numbers it found as intervals that are missing, and
// [Book.Verify] compares the two:
//
//	p := ledger.NewProducer(0)
//	stamp := ledger.Stamp{Run: run, Seq: p.Next(partition, 1), Due: due, Partition: partition}
//	stamp.Put(value, around)                  // then send it, with the timestamp stamp.Time()
//	p.Acknowledged(partition, stamp.Seq, 1, offset) // or p.Failed
//	…
//	book := &ledger.Book{Run: run, Start: ends, Lanes: p.Lanes()}
//	…
//	r := ledger.NewReader(book)
//	r.Begin(partition, logStart)
//	log := r.Log(partition)
//	log.Lock()
//	log.Add(&record, &stamp) // each record of a chunk, in the order of offsets
//	log.Unlock()
//	r.ReadTo(partition, next, logEnd)
//	tips, cut := log.Tips() // does the log still hold them? If not: log.Again, and read again
//	verdict := book.Verify(r)
//
// Records of a book with Headers carry no stamps. The header of a batch says who wrote it, by a producer id, and the
// sequence of its first record. An [Origin] says which number of a lane had which sequence:
//
//	first := p.Next(partition, 148)
//	p.Originate(partition, ledger.Origin{ID: id, Epoch: epoch, Sequence: sequence, First: first}) // then send the batch
//	p.Acknowledged(partition, first, 148, offset)
//	…
//	log.AddBatch(&header, from, to) // for log.Add
//
// Headers say nothing of the contents of records, but for the checksum over them. A broker that writes a batch anew, with another
// codec or with a time of its own, computes another checksum; id and sequence stay.
//
// Memory is bounded by producers and partitions, never by records. Where outcomes
// are so mixed that the bound is reached, places are forgotten, counts are kept,
// and the verdict says so: a record is called lost or read only if it certainly is.
//
// The topic must not be compacted, for a compacted record looks like a lost one: Reader.Unfinished if it is found to be.
package ledger
