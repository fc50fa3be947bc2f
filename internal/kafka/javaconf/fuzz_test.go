package javaconf

import (
	"strings"
	"testing"
	"time"

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
		checkParse(t, file, lenient, func(given map[string]plan.Given, lenient bool) (settings, []kgo.Opt, error) {
			s, _, err := ParseProducer(given, recordMax, lenient)
			if err != nil {
				return nil, nil, err
			}
			return s.settings, s.Options(), err
		})
	})
}

// FuzzParseConsumer does the same for a consumer.
func FuzzParseConsumer(f *testing.F) {
	f.Add("group.id=g\nsession.timeout.ms=100\nheartbeat.interval.ms=99\nmax.poll.interval.ms=100", false)
	f.Add("group.id=g\ngroup.protocol=consumer\ngroup.remote.assignor=range\ngroup.instance.id=i", false)
	f.Add("group.id=g\npartition.assignment.strategy=RangeAssignor, StickyAssignor\nenable.auto.commit=false\nauto.commit.interval.ms=2147483647", false)
	f.Add("fetch.max.bytes=0\nfetch.min.bytes=2147483647\nfetch.max.wait.ms=2147483647\nisolation.level=read_committed\ncheck.crcs=true", true)
	f.Add("max.partition.fetch.bytes=1073741824\nauto.offset.reset=by_duration:P1DT2H\nrequest.timeout.ms=900000\nacks=1", true)
	f.Fuzz(func(t *testing.T, file string, lenient bool) {
		checkParse(t, file, lenient, func(given map[string]plan.Given, lenient bool) (settings, []kgo.Opt, error) {
			s, _, err := ParseConsumer(given, lenient)
			if err != nil {
				return nil, nil, err
			}
			s.From(plan.From{}, time.Now())
			return s.settings, append(s.Options(), s.GroupOptions()...), err
		})
	})
}

func checkParse(t *testing.T, file string, lenient bool, parse func(map[string]plan.Given, bool) (settings, []kgo.Opt, error)) {
	first := map[string]plan.Given{}
	for line := range strings.Lines(file) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		first[name] = plan.Given{Value: value, Source: "fuzz"}
	}
	s, options, err := parse(first, lenient)
	if err != nil {
		return
	}
	cl, err := kgo.NewClient(options...)
	if err != nil {
		t.Fatalf("franz-go refuses: %v", err)
	}
	cl.Close()
	again := map[string]plan.Given{}
	for name, setting := range s {
		if setting.Value != "" {
			again[name] = plan.Given{Value: setting.Value, Source: "again"}
		}
	}
	s2, _, err := parse(again, false)
	if err != nil {
		t.Fatalf("the settings in effect do not parse: %v", err)
	}
	for name, setting := range s {
		if s2[name].Value != setting.Value && setting.Value != "" {
			t.Errorf("%s: %q becomes %q", name, setting.Value, s2[name].Value)
		}
	}
}
