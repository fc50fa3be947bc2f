package javaconf

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/codec"
)

const (
	gib = 1 << 30 // franz-go's upper limit for a batch and for a write

	smallestBatch = 512 // franz-go's lower limit for a batch

	// recordRoom is for 61 bytes of batch header, up to 36 of varints, and the lengths of a few headers.
	recordRoom = 128

	// javaOverhead is what Java adds to a record: 61 for the batch, 21 for the record.
	javaOverhead = 82

	// requestOverhead is room in a produce request beside its batches and ids.
	requestOverhead = 512

	// readLimit is franz-go's limit for an answer. A batch is never cut, so one may be larger than fetch.max.bytes.
	readLimit = 100 << 20

	// responseRoom is room in an answer beside its batches: a few dozen bytes for each partition.
	responseRoom = 1 << 20
)

func (s settings) options() []kgo.Opt {
	dial, pause, oldest := s.Duration("socket.connection.setup.timeout.ms"), s.Duration("retry.backoff.ms"), s.Duration("metadata.max.age.ms")
	opts := []kgo.Opt{
		kgo.ClientID(s.Value("client.id")), kgo.Rack(s.Value("client.rack")),
		kgo.ConnIdleTimeout(s.Duration("connections.max.idle.ms")), kgo.MetadataMaxAge(oldest),
		kgo.Dialer(dialer(dial, s.Int("send.buffer.bytes"), s.Int("receive.buffer.bytes"))),
		kgo.DialTimeout(dial), // unused beside a dialer, but the client tells it when asked
		kgo.RetryBackoffFn(retryBackoff(pause, s.Duration("retry.backoff.max.ms"))),
		// Java ties refreshing metadata to the same property. With franz-go's own 5 s every failover would look that long.
		// franz-go accepts no less than 10 ms, nor more than the greatest age.
		kgo.MetadataMinAge(min(max(pause, 10*time.Millisecond), oldest)),
	}
	if !s.Bool("enable.metrics.push") {
		opts = append(opts, kgo.DisableClientMetrics())
	}
	return opts
}

// Options returns the franz-go options for one client. The caller adds hooks.
func (s Producer) Options() []kgo.Opt {
	acks := map[string]kgo.Acks{"0": kgo.NoAck(), "1": kgo.LeaderAck(), "all": kgo.AllISRAcks()}
	opts := append(s.options(),
		kgo.RequiredAcks(acks[s.Acks()]),
		kgo.RecordRetries(s.Int("retries")),
		kgo.UnknownTopicRetries(-1), // brokers say so while leadership moves, and Java counts it like any other failure
		kgo.RecordDeliveryTimeout(s.DeliveryTimeout()),
		// The broker is told the full time, as Java tells it: a shorter one would fail acks=all writes that a slow replica
		// merely delays. What comes on top covers the network, and is also franz-go's limit for writes and for other requests,
		// 10 s by default.
		kgo.ProduceRequestTimeout(s.Duration("request.timeout.ms")),
		kgo.RequestTimeoutOverhead(min(s.Duration("request.timeout.ms"), 10*time.Second)),
		kgo.ProducerBatchMaxBytes(int32(s.batchMax())), kgo.ProducerLinger(s.Duration("linger.ms")), kgo.BrokerMaxWriteBytes(int32(s.writeMax())),
		// kt holds buffer.memory and max.block.ms itself, so that waiting for memory is measured. Blocked inside franz-go it
		// would pass unseen, and franz-go stops lingering while anything blocks.
		kgo.MaxBufferedRecords(math.MaxInt32),
	)
	transactional := s.TransactionalID() != ""
	if transactional {
		opts = append(opts, kgo.TransactionalID(s.TransactionalID()), kgo.TransactionTimeout(s.Duration("transaction.timeout.ms")))
	}
	switch {
	case !s.Idempotent(): // franz-go refuses the limit otherwise
		opts = append(opts, kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(s.MaxInFlight()))
	case !transactional: // the delivery timeout holds for records in flight too, as in Java; franz-go refuses it in a transaction
		opts = append(opts, kgo.AllowIdempotentProduceCancellation())
	}
	if c := s.Compressor(); c != nil {
		opts = append(opts, kgo.WithCompressor(c))
	} else { // the default of franz-go is snappy
		opts = append(opts, kgo.ProducerBatchCompression(kgo.NoCompression()))
	}
	if s.RoundRobin() {
		opts = append(opts, kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	} else { // another partition after batch.size bytes, as in Java, whatever franz-go's limit for a batch was raised to
		opts = append(opts, kgo.RecordPartitioner(kgo.UniformBytesPartitioner(max(s.BatchSize(), 1), s.Bool("partitioner.adaptive.partitioning.enable"), !s.Bool("partitioner.ignore.keys"), nil)))
	}
	if s.Bool("partitioner.rack.aware") {
		opts = append(opts, kgo.RackAwarePartitioning())
	}
	return opts
}

// batchMax is franz-go's limit for a batch. Java's batch.size is a target that a larger record may exceed on its own, so it
// holds the largest record.
func (s Producer) batchMax() int {
	return min(max(s.BatchTarget(), s.recordMax+recordRoom, smallestBatch), gib)
}

// BatchTarget returns the size before compression at which a batch is full.
func (s Producer) BatchTarget() int { return cmp.Or(s.fitted, s.BatchSize()) }

// writeMax is franz-go's limit for a request: max.request.size, which is of the batches alone, and the rest. One batch may
// exceed it.
func (s Producer) writeMax() int {
	names := len(s.Value("client.id")) + len(s.TransactionalID())
	return min(max(s.Int("max.request.size"), s.batchMax())+requestOverhead+names, gib)
}

// Options returns the franz-go options for one client that need no group. The caller adds topics, offsets, hooks and pools.
func (s Consumer) Options() []kgo.Opt {
	isolation, most := kgo.ReadUncommitted(), s.Int("fetch.max.bytes")
	if s.ReadCommitted() {
		isolation = kgo.ReadCommitted()
	}
	opts := append(s.options(),
		kgo.FetchMaxBytes(int32(most)), kgo.FetchMaxPartitionBytes(int32(s.Int("max.partition.fetch.bytes"))),
		kgo.BrokerMaxReadBytes(int32(max(readLimit, min(most+responseRoom, gib)))), // no less than FetchMaxBytes
		kgo.FetchMinBytes(int32(s.Int("fetch.min.bytes"))), kgo.FetchMaxWait(s.Duration("fetch.max.wait.ms")),
		kgo.FetchIsolationLevel(isolation), kgo.RequestTimeoutOverhead(s.Duration("request.timeout.ms")),
	)
	if !s.Bool("check.crcs") {
		opts = append(opts, kgo.DisableFetchCRCValidation())
	}
	return opts
}

// GroupOptions returns the further options for one member of the group, none
// without a group. The caller adds InstanceID, which no two members may share.
//
// With Protocol "consumer", franz-go falls back to the classic protocol if the broker does not
// offer it, and reports that only to its log. A JoinGroup request shows the fallback.
func (s Consumer) GroupOptions() []kgo.Opt {
	if s.Value("group.id") == "" {
		return nil
	}
	if s.Shared() {
		return s.shareOptions()
	}
	opts := []kgo.Opt{
		kgo.ConsumerGroup(s.Value("group.id")), kgo.RebalanceTimeout(s.Duration("max.poll.interval.ms")), kgo.AutoCommitInterval(s.Duration("auto.commit.interval.ms")),
	}
	if !s.Bool("enable.auto.commit") {
		opts = append(opts, kgo.DisableAutoCommit())
	}
	if s.NextGen() { // the broker says how often it wants a heartbeat
		assignor := kgo.StickyBalancer() // asks the broker for uniform
		if s.Value("group.remote.assignor") == "range" {
			assignor = kgo.RangeBalancer()
		}
		return append(opts, kgo.ServerSideBalancer(), kgo.Balancers(assignor))
	}
	var chosen []kgo.GroupBalancer
	for class := range strings.SplitSeq(s.Value("partition.assignment.strategy"), ",") {
		chosen = append(chosen, balancers[strings.TrimPrefix(class, assignorPackage)]())
	}
	return append(opts, kgo.Balancers(chosen...),
		kgo.SessionTimeout(s.Duration("session.timeout.ms")), kgo.HeartbeatInterval(s.Duration("heartbeat.interval.ms")))
}

func (s Consumer) shareOptions() []kgo.Opt {
	opts := []kgo.Opt{kgo.ShareGroup(s.Value("group.id")), kgo.ShareMaxRecords(int32(s.Int("max.poll.records")))}
	if s.Value("share.acquire.mode") == "RECORD_LIMIT" {
		opts = append(opts, kgo.ShareMaxRecordsStrict())
	}
	return opts
}

// retryBackoff returns Java's pause after a number of failures in a row: it doubles from initial up to longest, and varies by a
// fifth either way. If longest is no higher, the pause is longest.
func retryBackoff(initial, longest time.Duration) func(fails int) time.Duration {
	if longest <= initial {
		return func(int) time.Duration { return longest }
	}
	// Java limits the power, not only the result, so that the variation still shows once the pause has reached its limit.
	growth := math.Log2(float64(longest) / float64(max(initial, time.Millisecond)))
	return func(fails int) time.Duration {
		power := math.Pow(2, min(float64(max(fails-1, 0)), growth))
		pause := float64(initial) * power * (0.8 + 0.4*rand.Float64())
		return min(time.Duration(pause), longest)
	}
}

// dialer connects as Java does: with a time limit, and with socket buffers of a fixed size unless the size is negative.
func dialer(timeout time.Duration, send, receive int) func(context.Context, string, string) (net.Conn, error) {
	d := &net.Dialer{Timeout: timeout}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := d.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if tcp, ok := conn.(*net.TCPConn); ok && send >= 0 {
			err = tcp.SetWriteBuffer(send)
		}
		if tcp, ok := conn.(*net.TCPConn); ok && receive >= 0 {
			err = errors.Join(err, tcp.SetReadBuffer(receive))
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("set socket buffers: %w", err), conn.Close())
		}
		return conn, nil
	}
}

// compressor compresses batches to the sizes of the Java client, without a fallback to another method.
type compressor struct {
	codec *codec.Codec
	kind  kgo.CompressionCodecType
}

var _ kgo.Compressor = compressor{}

// Compress is franz-go's hook. The client keeps dst for the next batch, so dst grows here and not in the codec.
func (c compressor) Compress(dst *bytes.Buffer, src []byte, flags ...kgo.CompressFlag) ([]byte, kgo.CompressionCodecType) {
	if c.kind == kgo.CodecZstd && slices.Contains(flags, kgo.CompressDisableZstd) {
		return src, kgo.CodecNone // the broker is older than zstd
	}
	dst.Grow(len(src) + len(src)/16 + 1024)
	return c.codec.Append(dst.AvailableBuffer(), src), c.kind
}

// Compressor compresses this producer's batches; it is nil without compression.
func (s Producer) Compressor() kgo.Compressor {
	switch s.Compression() {
	case "gzip":
		return compressor{codec.Gzip(s.Int("compression.gzip.level")), kgo.CodecGzip}
	case "snappy":
		return compressor{codec.Snappy(), kgo.CodecSnappy}
	case "lz4":
		return compressor{codec.LZ4(s.Int("compression.lz4.level")), kgo.CodecLz4}
	case "zstd":
		return compressor{codec.Zstd(s.Int("compression.zstd.level")), kgo.CodecZstd}
	}
	return nil
}
