package codec

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/must"
)

var update = flag.Bool("update", false, "ask Kafka's Java client for testdata/java_sizes.tsv")

const javaSizes = "testdata/java_sizes.tsv"

// javaSize is the size of one sample as Kafka's Java client compresses it.
type javaSize struct {
	sample, method string
	level, size    int
}

func readJavaSizes(t *testing.T) []javaSize {
	t.Helper()
	text := must.Have(os.ReadFile(javaSizes))(t)
	var sizes []javaSize
	for line := range strings.Lines(string(text)) {
		var s javaSize
		if _, err := fmt.Sscan(line, &s.sample, &s.method, &s.level, &s.size); err != nil {
			t.Fatalf("%s: %q: %v", javaSizes, line, err)
		}
		sizes = append(sizes, s)
	}
	if len(sizes) < 500 {
		t.Fatalf("%s: %d sizes", javaSizes, len(sizes))
	}
	return sizes
}

func updateJavaSizes(t *testing.T) {
	dir := t.TempDir()
	for _, s := range samples() {
		must.Do(t, os.WriteFile(filepath.Join(dir, s.name), s.records, 0o600))
	}
	c := exec.Command("../../scripts/kafka", "tool", "testdata/Sizes.java", dir)
	c.Stderr = os.Stderr
	out := must.Have(c.Output())(t)
	must.Do(t, os.WriteFile(javaSizes, out, 0o600))
}

// codecOf returns the codec that stands for a method and level of Java's.
func codecOf(method string, level int) (*Codec, kgo.CompressionCodecType) {
	switch method {
	case "gzip":
		return Gzip(level), kgo.CodecGzip
	case "snappy":
		return Snappy(), kgo.CodecSnappy
	case "lz4":
		return LZ4(level), kgo.CodecLz4
	}
	return Zstd(level), kgo.CodecZstd
}

func TestSizesAreThoseOfTheJavaClient(t *testing.T) {
	if *update {
		updateJavaSizes(t)
	}
	records := make(map[string][]byte)
	for _, s := range samples() {
		records[s.name] = s.records
	}
	codecs := make(map[string]*Codec)
	for _, java := range readJavaSizes(t) {
		key := fmt.Sprint(java.method, java.level)
		c := codecs[key]
		if c == nil {
			c, _ = codecOf(java.method, java.level)
			codecs[key] = c
		}
		got := len(c.Append(nil, records[java.sample]))
		least, most := tolerated(java.method, java.level)
		if off := 100 * (float64(got)/float64(java.size) - 1); off < least || off > most {
			t.Errorf("%s of %s: %d bytes, Java %d: %+.1f %%", c, java.sample, got, java.size, off)
		}
	}
}

// tolerated returns by how many percent sizes may be off: less at Java's default levels. docs/producer.md tells users.
func tolerated(method string, level int) (least, most float64) {
	switch {
	case method == "zstd" && level < -1:
		return -100, 5
	case method == "zstd" && level > 15:
		return -5, 16
	case method == "gzip" && level < 0, method == "lz4" && level == 9, method == "zstd" && level == 3, method == "snappy":
		return -6, 6
	}
	return -15, 15
}

func TestWhatIsCompressedIsReadAgain(t *testing.T) {
	repeated := bytes.Repeat([]byte("the same again "), 5000)
	inputs := append(samples(), sample{"repeated", repeated}, sample{"constant", make([]byte, 70_000)})
	for n := 1; n <= 30; n++ {
		inputs = append(inputs, sample{fmt.Sprint(n, " bytes"), repeated[:n]})
	}
	seen := make(map[string]bool)
	for _, java := range readJavaSizes(t) {
		c, kind := codecOf(java.method, java.level)
		if seen[c.String()] {
			continue
		}
		seen[c.String()] = true
		for _, in := range inputs {
			prefix := []byte("before")
			out := c.Append(prefix, in.records)
			if !bytes.HasPrefix(out, prefix) {
				t.Fatalf("%s of %s: what stood in the buffer is gone", c, in.name)
			}
			back, err := kgo.DefaultDecompressor().Decompress(out[len(prefix):], kind)
			if err != nil || !bytes.Equal(back, in.records) {
				t.Fatalf("%s of %s: %d bytes became %d, %v", c, in.name, len(in.records), len(back), err)
			}
		}
	}
}

func FuzzWhatIsCompressedIsReadAgain(f *testing.F) {
	for _, s := range samples()[:4] {
		f.Add(s.records, 6)
	}
	f.Add(bytes.Repeat([]byte("abc"), 1000), 9)
	f.Fuzz(func(t *testing.T, records []byte, level int) {
		if len(records) == 0 {
			return // a batch has a record
		}
		for _, method := range []string{"gzip", "snappy", "lz4", "zstd"} {
			c, kind := codecOf(method, 1+int(uint(level)%9))
			back, err := kgo.DefaultDecompressor().Decompress(c.Append(nil, records), kind)
			if err != nil || !bytes.Equal(back, records) {
				t.Fatalf("%s: %d bytes became %d, %v", c, len(records), len(back), err)
			}
		}
	})
}

// The client's own buffer is reused, so a batch costs no memory once the first
// ones have made the tables.
func TestABatchAllocatesNothing(t *testing.T) {
	records := samples()[7].records
	for _, c := range []*Codec{Gzip(6), Snappy(), LZ4(9), LZ4(1), LZ4(12), Zstd(3)} {
		buffer := c.Append(nil, records)
		if n := testing.AllocsPerRun(50, func() { buffer = c.Append(buffer[:0], records) }); n >= 1 {
			t.Errorf("%s: %.1f allocations a batch", c, n)
		}
	}
}

func BenchmarkBatch(b *testing.B) {
	for _, s := range samples()[4:8] {
		for _, c := range []*Codec{Gzip(6), Gzip(1), Snappy(), LZ4(9), LZ4(5), LZ4(12), Zstd(3), Zstd(9)} {
			b.Run(fmt.Sprintf("%s/%s", s.name, c), func(b *testing.B) {
				b.SetBytes(int64(len(s.records)))
				b.ReportAllocs()
				var buffer []byte
				for b.Loop() {
					buffer = c.Append(buffer[:0], s.records)
				}
				b.ReportMetric(float64(len(buffer))/float64(len(s.records)), "ratio")
			})
		}
	}
}
