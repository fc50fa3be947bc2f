// Package format reads and writes record batches as they lie in Kafka's logs (format v2).
//
//	first, rest, _, err := format.Cut(answer) // of a fetch
//	records, ok := format.CutRecord(unpacked, &record)
package format
