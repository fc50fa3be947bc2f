package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// settingsSection has the settings that somebody chose, and all of them to be opened, in a page.
func settingsSection(r *result.Result) doc.Section {
	all := doc.NewTable("all-settings", "Every setting", "property|words", "value|words", "source|words")
	own := doc.NewTable("own-settings", "Properties of the clients that differ from the defaults", "property|words", "value|words", "default|words", "source|words", "note|words")
	for i, settings := range [][]result.Setting{r.Config, r.ConsumerConfig} {
		for _, s := range settings {
			if i == 1 && len(r.Config) > 0 {
				s.Name = "consumer: " + s.Name
			}
			if all.Add(s.Name, s.Value, s.Source); s.Value != s.Default {
				own.Add(s.Name, s.Value, s.Default, s.Source, s.Note)
			}
		}
	}
	configs := doc.NewTable("topic-configs", "Configurations of the topic", "topic|words", "name|words", "value|words")
	topics := topicsOf(r)
	for _, topic := range topics[:min(maxRows, len(topics))] {
		for _, name := range slices.Sorted(maps.Keys(topic.Configs)) {
			configs.Add(topic.Name, name, topic.Configs[name])
		}
	}
	return doc.Section{ID: "settings", Title: "Settings", For: doc.InPage, Blocks: []doc.Block{
		own,
		doc.Details{Summary: fmt.Sprintf("All %d settings", len(all.Rows)), Blocks: []doc.Block{all}},
		doc.Details{Summary: fmt.Sprintf("All %d configurations of the topic", len(configs.Rows)), Blocks: []doc.Block{configs}},
	}}
}

func topicsOf(r *result.Result) []result.Topic {
	if len(r.Environment.Topics) > 0 {
		return r.Environment.Topics
	}
	return []result.Topic{r.Environment.Topic}
}

// environment is the host, the cluster and the topic, and how this client was used apart from what the figures say of it, in a page.
func environment(r *result.Result) doc.Section {
	h, e, c, own := &r.Environment.Host, &r.Environment, &r.Client, r.Latency.OwnSendDelay
	s := doc.Section{ID: "environment", Title: "Environment", Columns: true, For: doc.InPage}
	var f *doc.Facts
	next := func(title string) {
		f = &doc.Facts{Title: title}
		s.Blocks = append(s.Blocks, f)
	}
	add := func(is bool, name, text string) {
		if is {
			f.Add(name, doc.Plain, text)
		}
	}
	next("This host")
	add(true, "name", h.Hostname)
	add(true, "machine", h.Machine)
	add(true, "system", strings.TrimSpace(h.OS+" "+h.Kernel+" "+h.Arch))
	add(true, "CPU", h.CPUModel)
	add(true, "CPUs", fmt.Sprintf("%d, kt may use %d", h.LogicalCPUs, h.GOMAXPROCS))
	add(true, "memory", theme.Bytes(h.MemoryBytes))
	add(h.CPULimitCores > 0, "CPU limit", theme.Number(h.CPULimitCores)+" cores")
	add(h.MemoryLimitBytes > 0, "memory limit", theme.Bytes(h.MemoryLimitBytes))
	add(h.NetworkSpeed > 0, "network", theme.Rate(float64(h.NetworkSpeed))+"bit/s")
	add(true, "clock source", h.ClockSource)
	add(true, "container", h.Container)
	add(h.Hypervisor, "virtual machine", "yes")
	add(true, "Go", h.GoVersion)

	next("Cluster and topic")
	add(r.Embedded, "brokers", "embedded in kt")
	add(true, "Kafka", e.Cluster.Version)
	add(true, "cluster id", e.Cluster.ID)
	for _, b := range e.Cluster.Brokers {
		add(true, "broker "+strconv.Itoa(int(b.ID)), strings.TrimSuffix(b.Addr+", rack "+b.Rack, ", rack "))
	}
	for _, t := range topicsOf(r) {
		text := plural(t.Partitions, "partition") + ", replication factor "
		if t.ReplicationFactor > 0 {
			text += strconv.Itoa(t.ReplicationFactor)
		} else {
			text += "not known"
		}
		if t.Created {
			text += ", created by this run"
		}
		add(true, "topic "+t.Name, text)
	}
	if r.NotAddedUp != "" {
		return s
	}

	next("This client")
	writes := writes(&r.Header)
	add(true, "CPU of the host", fmt.Sprintf("%s of %s cores", theme.Number(c.HostCPUCores), theme.Number(c.HostCores)))
	add(writes, "waited for a full buffer", theme.Percent(c.BufferFullShare)+" of the time")
	add(writes, "requests in flight", theme.Percent(c.InFlightShare)+" of those allowed")
	sent := theme.Number(c.NetSentMiBPerSecond)
	add(writes && sent != theme.Number(0), "sent, loopback not counted", sent+" MiB/s")
	add(true, "failed connects", theme.Count(c.FailedConnects))
	add(own.Count > 0, "own send delay", fmt.Sprintf("p50 %s, p99 %s, max %s", theme.Duration(micros(own.P50)), theme.Duration(micros(own.P99)), theme.Duration(micros(own.Max))))
	return s
}

// findings is what kt tune found on the machines when the run began, failures first, in a page.
func findings(r *result.Result) doc.Section {
	t := doc.NewTable("findings", "What kt tune found when the run began", "host|words", "verdict|words", "check|words", "is|words", "wanted|words", "why|words")
	t.Note = "kt tune --check says how this machine is now; kt tune --apply changes it, and can undo that."
	for i := range r.Tune {
		for _, of := range []struct {
			verdict string
			tone    doc.Tone
		}{{result.TuneFail, doc.Bad}, {result.TuneWarn, doc.Warn}, {result.TuneInfo, doc.Plain}} {
			for _, f := range r.Tune[i].Findings {
				if f.Verdict == of.verdict {
					t.Add(r.Tune[i].Host, doc.Cell{Text: f.Verdict, Tone: of.tone}, doc.Cell{Text: f.Title, Note: f.ID}, f.Current, f.Wanted, f.Why)
				}
			}
		}
	}
	return doc.Section{ID: "tune", Title: "Findings of kt tune", For: doc.InPage, Blocks: []doc.Block{t}}
}
