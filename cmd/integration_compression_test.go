//go:build integration

package cmd

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

// payloadDelimiter parts the payloads of a file. Random bytes do not hold it by chance.
const payloadDelimiter = "<|end of payload|>"

// writePayloads writes a file of so many payloads.
func writePayloads(t *testing.T, n int, payload func(*rand.Rand) []byte) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 4))
	var all []byte
	for range n {
		all = append(append(all, payload(rng)...), payloadDelimiter...)
	}
	path := filepath.Join(t.TempDir(), "payloads")
	must.Do(t, os.WriteFile(path, all, 0o600))
	return path
}

func uniform(rng *rand.Rand, first byte, span int) []byte {
	b := make([]byte, 1024)
	for i := range b {
		b[i] = first + byte(rng.IntN(span))
	}
	return b
}

func jsonOrder(rng *rand.Rand) []byte {
	b := fmt.Appendf(nil, `{"id":"%016x","at":"2026-11-%02dT%02d:%02d:%02dZ","status":%q,"lines":[`,
		rng.Uint64(), 1+rng.IntN(28), rng.IntN(24), rng.IntN(60), rng.IntN(60), []string{"new", "paid", "sent"}[rng.IntN(3)])
	for i := range 1 + rng.IntN(9) {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"sku":"SKU-%06d","quantity":%d,"price":%d.%02d,"warehouse":%q}`,
			rng.IntN(1_000_000), 1+rng.IntN(9), rng.IntN(500), rng.IntN(100), []string{"Berlin", "Paris", "Tokyo"}[rng.IntN(3)])
	}
	return append(b, `],"currency":"EUR"}`...)
}

// Both clients send the same payloads at full speed, with their defaults but for linger.ms: it
// fills the batches on a busy machine too, and a short batch compresses less.
func (k *kafkaCluster) compressesLikeJava(t *testing.T) {
	payloads := map[string]string{
		"letters": writePayloads(t, 4000, func(rng *rand.Rand) []byte { return uniform(rng, 'A', 26) }),
		"random":  writePayloads(t, 4000, func(rng *rand.Rand) []byte { return uniform(rng, 0, 256) }),
		"json":    writePayloads(t, 20_000, jsonOrder),
	}
	records := map[string]string{"letters": "4000", "random": "4000", "json": "20000"}
	type load struct{ payload, method, level string }
	var loads []load
	for _, method := range []string{"gzip", "snappy", "lz4", "zstd"} {
		loads = append(loads, load{"letters", method, "default"}, load{"json", method, "default"})
	}
	// Letters and random bytes hardly depend on the level.
	loads = append(loads, load{"random", "zstd", "default"}, load{"json", "gzip", "9"}, load{"json", "lz4", "12"}, load{"json", "zstd", "7"})
	args := []string{"tool", "testdata/CompressionRate.java", k.brokers, payloadDelimiter}
	for _, l := range loads {
		args = append(args, "java-"+l.payload+"-"+l.method, payloads[l.payload], l.method, l.level, records[l.payload])
	}
	java := exec.Command("../scripts/kafka", args...)
	var stderr bytes.Buffer
	java.Stderr = &stderr
	out, err := java.Output()
	rates := strings.Fields(string(out))
	if err != nil || len(rates) != len(loads) {
		t.Fatalf("%v, %d of %d rates\n%s", err, len(rates), len(loads), stderr.String())
	}
	for i, l := range loads {
		want := must.Have(strconv.ParseFloat(rates[i], 64))(t)
		compression, tolerated := l.method, 6.0
		if l.level != "default" {
			compression, tolerated = compression+":"+l.level, 15
		}
		doc, _ := k.start("--topic", fmt.Sprint("kt-", i), "--num-records", records[l.payload], "--compression", compression,
			"--linger", "100ms", "--payload-file", payloads[l.payload], "--payload-delimiter", payloadDelimiter).wait()
		got := doc.Batches.CompressedShare
		off := 100 * (got/want - 1)
		t.Logf("%-8s %-8s Java %.3f, kt %.3f: %+.1f %%", l.payload, compression, want, got, off)
		if strconv.FormatInt(doc.Records.Acknowledged, 10) != records[l.payload] || math.Abs(off) > tolerated {
			t.Errorf("%s, %s: %d records, compressed to %.3f, Java to %.3f: %+.1f %%", l.payload, compression, doc.Records.Acknowledged, got, want, off)
		}
	}
}
