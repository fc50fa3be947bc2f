package ledger

import (
	"encoding/binary"
	"hash/crc32"
	"time"
)

// StampSize is how many bytes at the head of a value the stamp takes, and so the
// smallest value that can carry one.
const StampSize = 40

// magic begins every stamp: two letters, a byte that is in no text, and the version of the layout.
const magic = 0x6b74b102

// Where the fields of a stamp lie; all are big endian.
const (
	atSum       = 4 // see checksum
	atRun       = 8
	atSeq       = 16
	atDue       = 24
	atProducer  = 32
	atFlags     = 34
	atPartition = 36
)

// warmupFlag marks the records of the warm-up. The other flags are not looked at.
const warmupFlag = 1

// crcTable is that of CRC-32C, which processors compute by themselves.
var crcTable = crc32.MakeTable(crc32.Castagnoli)

// Stamp says which record a value belongs to.
//
// The record's timestamp is the millisecond in which it was due (Time), so that a
// timestamp that was changed is found out without room for a second one.
type Stamp struct {
	Run       uint64
	Seq       int64 // number within the producer's lane of the partition, from 0
	Due       int64 // when it should go, in nanoseconds of wall-clock time since 1970
	Producer  uint16
	Partition int32
	Warmup    bool
}

// StampStatus is the outcome of the check of a value.
type StampStatus uint8

// The statuses of a value.
const (
	Stamped   StampStatus = iota // a stamp, and the record as it was sent
	Unstamped                    // no stamp: nothing that a verified load wrote
	Corrupted                    // a stamp, but not the record as it was sent, or not where it was sent to

	Foreign     // only of Log.Add: of another run
	Redelivered // only of Log.Add: at an offset that was read before; nothing else was looked at
)

// String returns the status as a word.
func (s StampStatus) String() string {
	if names := [...]string{"stamped", "unstamped", "corrupted", "foreign", "redelivered"}; int(s) < len(names) {
		return names[s]
	}
	return "unknown"
}

// Around is the parts of a record around its value, which are checked with it.
type Around struct {
	Key     []byte // nil is another key than an empty one
	Headers uint32 // AddHeader of each, from 0 on
}

// AddHeader returns the checksum of headers with one more behind them.
func AddHeader(sum uint32, key string, value []byte) uint32 {
	const prime = 16777619 // of FNV-1a: keys are short, and strings
	for i := range len(key) {
		sum = (sum ^ uint32(key[i])) * prime
	}
	return crc32.Update(mix(sum, len(key), value), crcTable, value)
}

// mix returns a checksum to start the next one from. It depends on where each byte string ends, and on nil or empty.
func mix(sum uint32, length int, next []byte) uint32 {
	x := uint64(sum)<<32 | uint64(uint32(length+1))
	if next == nil {
		x = ^x
	}
	x *= 0x9e3779b97f4a7c15 // the golden ratio: any input bit reaches the upper half
	return uint32(x>>32) ^ uint32(x)
}

// checksum returns the CRC-32C of the value behind the sum and of the key, from that of the headers on.
func checksum(value []byte, a Around) uint32 {
	sum := crc32.Update(mix(a.Headers, len(value), a.Key), crcTable, value[atRun:])
	if len(a.Key) > 0 {
		sum = crc32.Update(sum, crcTable, a.Key)
	}
	return sum
}

// Time returns the timestamp of the record.
func (s *Stamp) Time() time.Time { return time.UnixMilli(s.millis()) }

func (s *Stamp) millis() int64 { return s.Due / int64(time.Millisecond) }

// Put writes the stamp over the first StampSize bytes of value, with the checksum of
// the whole value and of the parts around it: call it when these are in place. It
// panics if value is shorter than StampSize.
func (s *Stamp) Put(value []byte, a Around) {
	head := value[:StampSize:StampSize]
	binary.BigEndian.PutUint32(head, magic)
	binary.BigEndian.PutUint64(head[atRun:], s.Run)
	binary.BigEndian.PutUint64(head[atSeq:], uint64(s.Seq))
	binary.BigEndian.PutUint64(head[atDue:], uint64(s.Due))
	binary.BigEndian.PutUint16(head[atProducer:], s.Producer)
	var flags uint16
	if s.Warmup {
		flags = warmupFlag
	}
	binary.BigEndian.PutUint16(head[atFlags:], flags)
	binary.BigEndian.PutUint32(head[atPartition:], uint32(s.Partition))
	binary.BigEndian.PutUint32(head[atSum:], checksum(value, a))
}

// ReadStamp reads the stamp of a value into s, and checks the whole value and the parts around
// it. It leaves s alone if the value has no stamp. The stamp of a corrupted value may hold
// anything.
func ReadStamp(value []byte, a Around, s *Stamp) StampStatus {
	if !PeekStamp(value, s) {
		return Unstamped
	}
	if checksum(value, a) != binary.BigEndian.Uint32(value[atSum:]) {
		return Corrupted
	}
	return Stamped
}

// PeekStamp reads the stamp of a value into s without looking at the checksum. It
// reports whether there is one; if not, s is left alone.
func PeekStamp(value []byte, s *Stamp) bool {
	if len(value) < StampSize || binary.BigEndian.Uint32(value) != magic {
		return false
	}
	head := value[:StampSize:StampSize]
	s.Run = binary.BigEndian.Uint64(head[atRun:])
	s.Seq = int64(binary.BigEndian.Uint64(head[atSeq:]))
	s.Due = int64(binary.BigEndian.Uint64(head[atDue:]))
	s.Producer = binary.BigEndian.Uint16(head[atProducer:])
	s.Warmup = binary.BigEndian.Uint16(head[atFlags:])&warmupFlag != 0
	s.Partition = int32(binary.BigEndian.Uint32(head[atPartition:]))
	return true
}
