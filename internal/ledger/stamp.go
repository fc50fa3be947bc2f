package ledger

import (
	"encoding/binary"
	"hash/crc32"
)

// StampSize is how many bytes at the head of a value the stamp takes, and so the
// smallest value that can carry one.
const StampSize = 40

// magic begins every stamp: two letters, a byte that is in no text, and the
// version of the layout.
const magic = 0x6b74b101

// Where the fields of a stamp lie; all are big endian.
const (
	atSum       = 4 // CRC-32C of all that follows it: the rest of the stamp and of the value
	atRun       = 8
	atSeq       = 16
	atDue       = 24
	atProducer  = 32
	atFlags     = 34
	atPartition = 36
)

// warmupFlag marks the records of the warm-up. The other flags are 0, and not
// looked at.
const warmupFlag = 1

// crcTable is that of CRC-32C, which processors compute by themselves.
var crcTable = crc32.MakeTable(crc32.Castagnoli)

// Stamp says which record a value belongs to.
type Stamp struct {
	Run       uint64
	Seq       int64 // number within the producer's lane of the partition, from 0
	Due       int64 // when it should go, in nanoseconds of wall-clock time since 1970
	Producer  uint16
	Partition int32
	Warmup    bool
}

// Kind is what a value was found to be.
type Kind uint8

// What ReadStamp and Log.Add tell of a value.
const (
	Stamped   Kind = iota // a stamp, and the value as it was sent
	Unstamped             // no stamp: nothing that a verified load wrote
	Corrupted             // a stamp, but not the value as it was sent, or not where it was sent to

	Foreign     // only of Log.Add: of another run
	Redelivered // only of Log.Add: at an offset that was read before; nothing else was looked at
)

// String is the kind as a word.
func (k Kind) String() string {
	switch k {
	case Stamped:
		return "stamped"
	case Unstamped:
		return "unstamped"
	case Corrupted:
		return "corrupted"
	case Foreign:
		return "foreign"
	case Redelivered:
		return "redelivered"
	}
	return "unknown"
}

// Put writes the stamp over the first StampSize bytes of value, with the checksum
// of the whole value: call it when the rest is in place. It panics if value is
// shorter than that.
func (s *Stamp) Put(value []byte) {
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
	binary.BigEndian.PutUint32(head[atSum:], crc32.Checksum(value[atRun:], crcTable))
}

// ReadStamp reads the stamp of a value into s and checks the whole value against
// it. Of an unstamped value s is left alone; of a corrupted one it holds what the
// value says, which may be anything.
func ReadStamp(value []byte, s *Stamp) Kind {
	if !PeekStamp(value, s) {
		return Unstamped
	}
	if crc32.Checksum(value[atRun:], crcTable) != binary.BigEndian.Uint32(value[atSum:]) {
		return Corrupted
	}
	return Stamped
}

// PeekStamp reads the stamp of a value into s without looking at the checksum. It
// tells whether there is one; if not, s is left alone.
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
