package javaconf

import (
	"bytes"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

func TestABrokerThatIsOlderThanZstdGetsNoZstd(t *testing.T) {
	records := []byte(strings.Repeat("a", 1000))
	c := parse(t, 1000, "compression.type=zstd").Compressor()
	if got, kind := c.Compress(new(bytes.Buffer), records, kgo.CompressDisableZstd); kind != kgo.CodecNone || !bytes.Equal(got, records) {
		t.Errorf("codec %d, %d bytes", kind, len(got))
	}
}
