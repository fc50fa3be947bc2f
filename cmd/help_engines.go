package cmd

import "github.com/spf13/cobra"

// newEngines returns a help topic: a command without anything to run.
func newEngines() *cobra.Command {
	return &cobra.Command{
		Use: "engines", Short: "What the client and the wire engine measure", SuggestFor: []string{"engine", "wire", "client"},
		Long: `kt has two ways to carry a load; --engine chooses one.

client (the default) hands each record to a Kafka client, as an application does: it
batches, compresses and spreads records by the clock and by their keys. Take it to
know what an application gets: its latency, its settings, its CPU.

wire leaves the client out. Whole batches of records are encoded, and compressed, before the
run; kt fills in timestamps, producer ids and sequence numbers, and writes them to
the brokers' connections. Take it to know what the brokers can do: it needs less CPU, so
kt is rarely the limit, and the machine's CPU is left to brokers on it.

What is the same: rates and due times, acks, idempotence, retries, compression, keys and headers
in the records, record sizes, --verify, many hosts, results.

What differs with the wire engine:
  latency     records that fell due within 0.5 ms count with that of the first
  schedule    a run is valid with an own send delay p99 of up to 2 ms, not 5 ms
  content     batches repeat: 4 to 64 different ones; with --payload-monotonic
              or --key-distribution range each record is its own, which
              costs CPU
  --verify    by producer id, sequence and checksum in the headers of batches:
              kt consume --verify reads them with the wire engine. With --stamp,
              --acks 0, --acks 1 or --idempotence false, kt writes a number into
              each value. Records then differ, which costs CPU. Both engines can
              verify them
  partitions  take turns, a batch each; keys do not choose them
  order       a producer writes under several ids, each in its own order
  reading     without a group; verifies checksums, unless --no-check-crcs
  cannot      make transactions, let keys choose partitions, read in a group:
              --engine client does these

kt calibrate tells how much load this host can offer with each of them.
Results of the two are not comparable: kt says in each which engine it used.`,
	}
}
