//go:build !race

package cmd

import (
	"bytes"
	varint "encoding/binary"
	"hash/crc32"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/kt-bench/kt/internal/codec"
	"github.com/kt-bench/kt/internal/must"
)

const megabyte = 1 << 20

// zeroRecord returns the begin of a record with a value of zeros, behind which come the zeros and one more.
func zeroRecord(value int) []byte {
	body := varint.AppendVarint([]byte{0, 0, 0, 1}, int64(value))
	return append(varint.AppendVarint(nil, int64(len(body)+value+1)), body...)
}

// bomb returns one record with a value of so many zeros, compressed block by block: the zeros are nowhere in memory.
func bomb(kind kgo.CompressionCodecType, value int) []byte {
	head, left := zeroRecord(value), value+1
	var out bytes.Buffer
	block := make([]byte, 64<<10)
	switch kind {
	case kgo.CodecZstd:
		out.Write([]byte{0x28, 0xb5, 0x2f, 0xfd, 0, 0x58}) // a window of 2 MiB
		out.Write([]byte{byte(len(head) << 3), 0, 0})      // as it is
		out.Write(head)
		for ; left > 0; left -= min(left, 128<<10) {
			n, last := min(left, 128<<10), 0
			if n == left {
				last = 1
			}
			h := n<<3 | 1<<1 | last // one byte, n times
			out.Write([]byte{byte(h), byte(h >> 8), byte(h >> 16), 0})
		}
	case kgo.CodecGzip:
		z, _ := gzip.NewWriterLevel(&out, 1) // the level is one
		_, _ = z.Write(head)
		for ; left > 0; left -= min(left, len(block)) {
			_, _ = z.Write(block[:min(left, len(block))])
		}
		_ = z.Close()
	case kgo.CodecSnappy:
		out.Write(codec.Snappy().Append(nil, head))
		whole := codec.Snappy().Append(nil, block[:32<<10])[16:]
		for ; left >= 32<<10; left -= 32 << 10 {
			out.Write(whole)
		}
		out.Write(codec.Snappy().Append(nil, block[:left])[16:])
	default: // lz4: a header of 7 bytes, blocks, and 4 bytes of zero at the end
		frame := func(b []byte) []byte { f := codec.LZ4(9).Append(nil, b); return f[7 : len(f)-4] }
		out.Write(codec.LZ4(9).Append(nil, head)[:7])
		out.Write(frame(head))
		whole := frame(block)
		for ; left >= len(block); left -= len(block) {
			out.Write(whole)
		}
		out.Write(frame(block[:left]))
		out.Write(make([]byte, 4))
	}
	return out.Bytes()
}

// writeBatches writes a batch of one record as it is, n times.
func writeBatches(t *testing.T, c *kgo.Client, topic string, kind kgo.CompressionCodecType, records []byte, n int) {
	t.Helper()
	b := kmsg.RecordBatch{Magic: 2, PartitionLeaderEpoch: -1, Attributes: int16(kind), ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1, NumRecords: 1, Records: records}
	b.Length = int32(len(b.AppendTo(nil)) - 12)
	b.CRC = int32(crc32.Checksum(b.AppendTo(nil)[21:], crc32.MakeTable(crc32.Castagnoli)))
	for range n {
		req := kmsg.NewPtrProduceRequest()
		req.Acks, req.TimeoutMillis = -1, 10_000
		p := kmsg.NewProduceRequestTopicPartition()
		p.Records = b.AppendTo(nil)
		of := kmsg.NewProduceRequestTopic()
		of.Topic, of.Partitions = topic, append(of.Partitions, p)
		req.Topics = append(req.Topics, of)
		res, err := c.Request(t.Context(), req)
		must.Hold(t, err == nil && res.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode == 0, "%v %+v", err, res)
	}
}

// Whoever may write to a topic decides what a reader decompresses. kt stays below 512 MiB whatever that is: batches just within
// its bound, many at once, and batches beyond it.
func TestBombsInATopicLeaveKtBelow512MiB(t *testing.T) {
	fake := must.Have(kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "gzip", "snappy", "lz4", "zstd"), kfake.BrokerConfigs(map[string]string{"message.max.bytes": "100000000"})))(t)
	defer fake.Close()
	c := must.Have(kgo.NewClient(kgo.SeedBrokers(fake.ListenAddrs()...), kgo.MaxVersions(kversion.V3_5_0())))(t) // topics have names there
	defer c.Close()
	for topic, kind := range map[string]kgo.CompressionCodecType{"gzip": kgo.CodecGzip, "snappy": kgo.CodecSnappy, "lz4": kgo.CodecLz4, "zstd": kgo.CodecZstd} {
		writeBatches(t, c, topic, kind, bomb(kind, 200*megabyte), 2)
		writeBatches(t, c, topic, kind, bomb(kind, 400*megabyte), 1)
		for _, engine := range []string{"client", "wire"} {
			kt := exec.Command("kt", "consume", "--bootstrap-server", fake.ListenAddrs()[0], "--topic", topic, "--engine", engine, "--no-group", "--from", "earliest", "--result", "none")
			kt.Env = append(kt.Environ(), "GOGC=", "XDG_STATE_HOME="+t.TempDir())
			out, err := kt.CombinedOutput()
			within512(t, topic+", "+engine, kt)
			if err != nil && kt.ProcessState.ExitCode() != exitNotValid || !strings.Contains(string(out), "2 read") || !oneTooLarge.Match(out) {
				t.Errorf("%s, %s: %v, want 2 records read and one batch too large:\n%s", topic, engine, err, out)
			}
		}
	}
}

var oneTooLarge = regexp.MustCompile(`client:BATCH_TOO_LARGE +fetching +1\n`)

// within512 checks the peak of a process that is over.
func within512(t *testing.T, name string, kt *exec.Cmd) {
	t.Helper()
	peak := kt.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
	t.Logf("%s: %d MiB", name, peak>>10)
	must.True(t, peak <= 512<<10, "%s: kt took %d MiB, want 512 at most", name, peak>>10)
}

func TestMetadataOfManyBrokersLeaveKtBelow512MiB(t *testing.T) {
	fake := must.Have(kfake.NewCluster(kfake.NumBrokers(1)))(t)
	defer fake.Close()
	fake.ControlKey(int16(kmsg.Metadata), func(q kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		r := q.ResponseKind().(*kmsg.MetadataResponse)
		for i := range 200_000 {
			b := kmsg.NewMetadataResponseBroker()
			b.NodeID, b.Host, b.Port = int32(i), "127.0.0.1", 1
			r.Brokers = append(r.Brokers, b)
		}
		return r, nil, true
	})
	kt := exec.Command("kt", "produce", "--bootstrap-server", fake.ListenAddrs()[0], "--topic", "t", "--num-records", "1", "--result", "none")
	kt.Env = append(kt.Environ(), "XDG_STATE_HOME="+t.TempDir())
	out, err := kt.CombinedOutput()
	within512(t, "200,000 brokers", kt)
	must.True(t, err != nil && strings.Count(string(out), "\n") == 1 && strings.Contains(string(out), "200000 brokers"),
		"%v, want one line on the brokers:\n%.1000s", err, out)
}
