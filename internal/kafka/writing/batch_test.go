package writing

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/kafka/javaconf"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/payload"
	"github.com/kt-bench/kt/internal/plan"
)

// loadOf returns a plan that sends what the file holds, or letters without one.
func loadOf(t *testing.T, file string) (plan.Plan, *payload.Values) {
	t.Helper()
	p := plan.Plan{Seed: 1, Payload: plan.Payload{Kind: plan.Letters, Size: plan.FixedSize(1024), Keys: plan.NoKeys}}
	if file != "" {
		path := filepath.Join(t.TempDir(), "payload")
		must.Do(t, os.WriteFile(path, []byte(file), 0o600))
		p.Payload = plan.Payload{Kind: plan.File, File: path, Delimiter: "\n", Keys: plan.NoKeys}
	}
	v := must.Have(payload.MakeValues(&p))(t)
	return p, v
}

func TestLettersWithoutRepetitionsAreCompressed(t *testing.T) {
	p, v := loadOf(t, "")
	records, _ := sample(v, p, 25_000)
	for codec, want := range map[string]struct{ low, high float64 }{
		"gzip": {0.60, 0.64}, "zstd": {0.59, 0.62}, "lz4": {0.99, 1.01}, "snappy": {0.99, 1.01}, // Kafka's own tool: 0.632, 0.606
	} {
		compressed, kind := producing(t, 1024, "compression.type="+codec).Compressor().Compress(new(bytes.Buffer), records)
		ratio := float64(len(compressed)) / float64(len(records))
		must.True(t, ratio >= want.low && ratio <= want.high, "%s: %.3f, want %.2f to %.2f", codec, ratio, want.low, want.high)
		back, err := kgo.DefaultDecompressor().Decompress(compressed, kind)
		must.True(t, err == nil && bytes.Equal(back, records), "%s: %d bytes came back of %d, %v", codec, len(back), len(records), err)
	}
}

func TestABatchIsFullWhenItsCompressedSizeIs(t *testing.T) {
	for _, tc := range []struct {
		name, words, file string
		low, high         int
	}{
		{"not compressed", "", "", 16384, 16384},
		{"no batches", "compression.type=zstd batch.size=0", "", 1152, 1152},
		{"letters", "compression.type=zstd", "", 23_000, 26_000},
		{"letters that lz4 cannot compress", "compression.type=lz4", "", 15_000, 16_384},
		{"the same again", "compression.type=zstd", strings.Repeat("the same again ", 70), 400_000, 700_000},
		{"no more than a request holds", "compression.type=zstd max.request.size=100000", strings.Repeat("the same again ", 70), 100_000, 100_100},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, v := loadOf(t, tc.file)
			client := must.Have(kgo.NewClient(FitBatches(producing(t, 1024, strings.Fields(tc.words)...), p, v).Options()...))(t)
			defer client.Close()
			got := int(client.OptValue(kgo.ProducerBatchMaxBytes).(int32))
			must.True(t, got >= tc.low && got <= tc.high, "a batch holds %d bytes before compression, want %d to %d", got, tc.low, tc.high)
		})
	}
}

// producing returns the settings of a producer with these properties, each written
// name=value.
func producing(t testing.TB, recordMax int, words ...string) javaconf.Producer {
	t.Helper()
	s, _ := must.Both(javaconf.ParseProducer(canned.Given("the test", words...), recordMax, false))(t)
	return s
}

// A plan cannot ask the ledger how large its stamps are: neither may import the other.
func TestAPlanLeavesRoomForTheStampOfTheLedger(t *testing.T) {
	must.True(t, plan.StampBytes == ledger.StampSize, "plan.StampBytes is %d, and a stamp takes %d bytes", plan.StampBytes, ledger.StampSize)
}
