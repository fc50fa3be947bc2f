package javaconf

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/plan"
)

// FuzzParseProducer reads a file of name=value lines.
//   - It never panics.
//   - Settings that parse make options that franz-go accepts.
//   - The values in effect, given again, are in effect again.
func FuzzParseProducer(f *testing.F) {
	f.Add("acks=1\nlinger.ms=0\nbatch.size=0", 100, false)
	f.Add("compression.type=zstd\ncompression.zstd.level=9\nmax.request.size=1073741824\nbuffer.memory=9223372036854775807", 1<<30-82, false)
	f.Add("acks=0\nretries=0\nmax.in.flight.requests.per.connection=1", 0, true)
	f.Add("transactional.id=t\nclient.id=\nmetadata.max.age.ms=10\nretry.backoff.ms=2147483647", 1, false)
	f.Add("request.timeout.ms=100\ndelivery.timeout.ms=1000\nlinger.ms=900\nmax.block.ms=9223372036854775807", -1, false)
	f.Add("batch.size=1073741824\nbuffer.memory=1073741824\nconnections.max.idle.ms=900000\nbatch.sizes=1", 5000, true)
	f.Fuzz(func(t *testing.T, file string, recordMax int, lenient bool) {
		properties := map[string]plan.Given{}
		for line := range strings.Lines(file) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			properties[name] = plan.Given{Value: value, Source: "fuzz"}
		}
		s, _, err := ParseProducer(properties, recordMax, lenient)
		if err != nil {
			return
		}
		cl, err := kgo.NewClient(s.Options()...)
		if err != nil {
			t.Fatalf("franz-go refuses: %v", err)
		}
		cl.Close()
		again := map[string]plan.Given{}
		for _, setting := range s.All() {
			if setting.Value != "" {
				again[setting.Name] = plan.Given{Value: setting.Value, Source: "again"}
			}
		}
		s2, _, err := ParseProducer(again, recordMax, false)
		if err != nil {
			t.Fatalf("the settings in effect do not parse: %v", err)
		}
		for name, setting := range s.settings {
			if s2.settings[name].Value != setting.Value && setting.Value != "" {
				t.Errorf("%s: %q becomes %q", name, setting.Value, s2.settings[name].Value)
			}
		}
	})
}
