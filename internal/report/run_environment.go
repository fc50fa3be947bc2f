package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// settingsSection has the settings that somebody chose, and all of them to be opened, in a page.
func settingsSection(r *result.Result) doc.Section {
	all := settingTable(r, "all-settings", "Every setting", func(s result.Setting) []string { return []string{s.Name, s.Value, s.Source} }, "property", "value", "source")
	own := settingTable(r, "own-settings", "Properties of the clients that differ from the defaults", func(s result.Setting) []string {
		if s.Value == s.Default {
			return nil
		}
		return []string{s.Name, s.Value, s.Default, s.Source, s.Note}
	}, "property", "value", "default", "source", "note")
	topics := r.Environment.Topics
	if len(topics) == 0 {
		topics = []result.Topic{r.Environment.Topic}
	}
	configs := doc.Table{ID: "topic-configs", Caption: "Configurations of the topic", Columns: doc.Heads(doc.Words, "topic", "name", "value")}
	for _, topic := range topics[:min(maxRows, len(topics))] {
		for _, name := range slices.Sorted(maps.Keys(topic.Configs)) {
			configs.Rows = append(configs.Rows, doc.Row{Cells: doc.Of(topic.Name, name, topic.Configs[name])})
		}
	}
	return doc.Section{ID: "settings", Title: "Settings", For: doc.InPage, Tables: []doc.Table{own}, Blocks: []doc.Block{
		doc.Details{Summary: fmt.Sprintf("All %d settings", len(all.Rows)), Blocks: []doc.Block{&all}},
		doc.Details{Summary: fmt.Sprintf("All %d configurations of the topic", len(configs.Rows)), Blocks: []doc.Block{&configs}},
	}}
}

func settingTable(r *result.Result, id, caption string, cells func(result.Setting) []string, heads ...string) doc.Table {
	t := doc.Table{ID: id, Caption: caption, Columns: doc.Heads(doc.Words, heads...)}
	add := func(who string, settings []result.Setting) {
		for _, s := range settings {
			if row := cells(s); row != nil {
				row[0] = who + row[0]
				t.Rows = append(t.Rows, doc.Row{Cells: doc.Of(row...)})
			}
		}
	}
	who := ""
	if len(r.Config) > 0 {
		who = "consumer: "
	}
	add("", r.Config)
	add(who, r.ConsumerConfig)
	return t
}

// environment is the host, the cluster and the topic, in a page.
func environment(r *result.Result) doc.Section {
	s := doc.Section{ID: "environment", Title: "Environment", Columns: true, For: doc.InPage, Blocks: []doc.Block{hostFacts(&r.Environment.Host), clusterFacts(r)}}
	if r.NotAddedUp == "" {
		s.Blocks = append(s.Blocks, clientFacts(r))
	}
	return s
}

func hostFacts(h *host.Facts) doc.Facts {
	var f facts
	add := func(name, text string) { f.add(name, doc.Plain, text) }
	add("name", h.Hostname)
	add("machine", h.Machine)
	add("system", strings.TrimSpace(h.OS+" "+h.Kernel+" "+h.Arch))
	add("CPU", h.CPUModel)
	add("CPUs", fmt.Sprintf("%d, kt may use %d", h.LogicalCPUs, h.GOMAXPROCS))
	add("memory", theme.Bytes(h.MemoryBytes))
	if h.CPULimitCores > 0 {
		add("CPU limit", theme.Number(h.CPULimitCores)+" cores")
	}
	if h.MemoryLimitBytes > 0 {
		add("memory limit", theme.Bytes(h.MemoryLimitBytes))
	}
	if h.NetworkSpeed > 0 {
		add("network", theme.Rate(float64(h.NetworkSpeed))+"bit/s")
	}
	add("clock source", h.ClockSource)
	add("container", h.Container)
	if h.Hypervisor {
		add("virtual machine", "yes")
	}
	add("Go", h.GoVersion)
	return doc.Facts{Title: "This host", Rows: f}
}

func clusterFacts(r *result.Result) doc.Facts {
	e := &r.Environment
	var f facts
	add := func(name, text string) { f.add(name, doc.Plain, text) }
	if r.Embedded {
		add("brokers", "embedded in kt")
	}
	add("Kafka", e.Cluster.Version)
	add("cluster id", e.Cluster.ID)
	for _, b := range e.Cluster.Brokers {
		text := b.Addr
		if b.Rack != "" {
			text += ", rack " + b.Rack
		}
		add("broker "+strconv.Itoa(int(b.ID)), text)
	}
	topics := e.Topics
	if len(topics) == 0 {
		topics = []result.Topic{e.Topic}
	}
	for _, t := range topics {
		factor := "not known"
		if t.ReplicationFactor > 0 {
			factor = strconv.Itoa(t.ReplicationFactor)
		}
		text := fmt.Sprintf("%s, replication factor %s", plural(t.Partitions, "partition"), factor)
		if t.Created {
			text += ", created by this run"
		}
		add("topic "+t.Name, text)
	}
	return doc.Facts{Title: "Cluster and topic", Rows: f}
}

// clientFacts are how this client was used, apart from what a summary says of it.
func clientFacts(r *result.Result) doc.Facts {
	c := &r.Client
	var f facts
	add := func(name, text string) { f.add(name, doc.Plain, text) }
	add("CPU of the host", fmt.Sprintf("%s of %s cores", theme.Number(c.HostCPUCores), theme.Number(c.HostCores)))
	if writes(&r.Header) {
		add("waited for a full buffer", theme.Percent(c.BufferFullShare)+" of the time")
		add("requests in flight", theme.Percent(c.InFlightShare)+" of those allowed")
		if sent := theme.Number(c.NetSentMiBPerSecond); sent != theme.Number(0) {
			add("sent, loopback not counted", sent+" MiB/s")
		}
	}
	add("failed connects", theme.Count(c.FailedConnects))
	if o := r.Latency.OwnSendDelay; o.Count > 0 {
		add("own send delay", fmt.Sprintf("p50 %s, p99 %s, max %s", theme.Duration(micros(o.P50)), theme.Duration(micros(o.P99)), theme.Duration(micros(o.Max))))
	}
	return doc.Facts{Title: "This client", Rows: f}
}

// findings is what kt tune found on the machines when the run began, failures first, in a page.
func findings(r *result.Result) doc.Section {
	t := doc.Table{
		ID: "findings", Caption: "What kt tune found when the run began", Columns: doc.Heads(doc.Words, "host", "verdict", "check", "is", "wanted", "why"),
		Note: "kt tune --check says how this machine is now; kt tune --apply changes it, and can undo that.",
	}
	order := []string{result.TuneFail, result.TuneWarn, result.TuneInfo}
	tones := map[string]doc.Tone{result.TuneFail: doc.Bad, result.TuneWarn: doc.Warn}
	for i := range r.Tune {
		c := &r.Tune[i]
		found := slices.Clone(c.Findings)
		slices.SortStableFunc(found, func(a, b result.TuneFinding) int {
			return slices.Index(order, a.Verdict) - slices.Index(order, b.Verdict)
		})
		for _, f := range found {
			row := doc.Of(c.Host, f.Verdict, f.Title, f.Current, f.Wanted, f.Why)
			row[1].Tone, row[2].Note = tones[f.Verdict], f.ID
			t.Rows = append(t.Rows, doc.Row{Cells: row})
		}
	}
	return doc.Section{ID: "tune", Title: "Findings of kt tune", For: doc.InPage, Tables: []doc.Table{t}}
}
