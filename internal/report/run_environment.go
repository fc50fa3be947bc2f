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

const (
	maxRows  = 100 // of a table that only a page has; the document in the page has all
	openRows = 12  // rows of a page that nobody has to scroll past
)

// settingsSection has the settings that somebody chose, and all of them to be opened, in a page.
func settingsSection(r *result.Result) doc.Section {
	all := doc.NewTable("all-settings", "Every setting", "property|words", "value|words", "source|words")
	own := doc.NewTable("own-settings", "Properties of the clients that differ from the defaults", "property|words", "value|words", "default|words", "source|words", "note|words")
	for i, settings := range [][]result.Setting{r.Config, r.ConsumerConfig} {
		for _, s := range settings {
			s.Name = pick(i == 1 && len(r.Config) > 0, "consumer: ", "") + s.Name
			if all.Add(s.Name, s.Value, s.Source); s.Value != s.Default {
				own.Add(s.Name, s.Value, s.Default, s.Source, s.Note)
			}
		}
	}
	configs := doc.NewTable("topic-configs", "Configurations of the topic", "topic|words", "name|words", "value|words")
	topics := r.Environment.AllTopics()
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

// environment is the host, the cluster and the topic, and how this client was used apart from what the figures say of it, in a page.
func environment(r *result.Result) doc.Section {
	h, e, c, own := &r.Environment.Host, &r.Environment, &r.Client, r.Latency.OwnSendDelay
	host, cluster, client := &doc.Facts{Title: "This host"}, &doc.Facts{Title: "Cluster and topic"}, &doc.Facts{Title: "This client"}
	host.List("name", h.Hostname)
	host.List("machine", h.Machine)
	host.List("system", strings.TrimSpace(h.OS+" "+h.Kernel+" "+h.Arch))
	host.List("CPU", h.CPUModel)
	host.List("CPUs", fmt.Sprintf("%d, kt may use %d", h.LogicalCPUs, h.GOMAXPROCS))
	host.List("memory", theme.Bytes(h.MemoryBytes))
	host.If(h.CPULimitCores > 0, "CPU limit", doc.Plain, theme.Number(h.CPULimitCores)+" cores")
	host.If(h.MemoryLimitBytes > 0, "memory limit", doc.Plain, theme.Bytes(h.MemoryLimitBytes))
	host.If(h.NetworkSpeed > 0, "network", doc.Plain, theme.Rate(float64(h.NetworkSpeed))+"bit/s")
	host.List("clock source", h.ClockSource)
	host.List("container", h.Container)
	host.If(h.Hypervisor, "virtual machine", doc.Plain, "yes")
	host.List("Go", h.GoVersion)

	cluster.If(r.Embedded, "brokers", doc.Plain, "embedded in kt")
	cluster.List("Kafka", e.Cluster.Version)
	cluster.List("cluster id", e.Cluster.ID)
	for _, b := range e.Cluster.Brokers {
		cluster.List("broker "+strconv.Itoa(int(b.ID)), strings.TrimSuffix(b.Addr+", rack "+b.Rack, ", rack "))
	}
	topics := e.AllTopics()
	for _, t := range topics[:min(openRows, len(topics))] {
		factor := pick(t.ReplicationFactor > 0, strconv.Itoa(t.ReplicationFactor), "not known")
		cluster.List("topic "+t.Name, plural(t.Partitions, "partition")+", replication factor "+factor+pick(t.Created, ", created by this run", ""))
	}
	cluster.If(len(topics) > openRows, "", doc.Muted, fmt.Sprintf("and %d more topics", len(topics)-openRows))

	writes, sent := writes(&r.Header), theme.Number(c.NetSentMiBPerSecond)
	client.List("CPU of the host", fmt.Sprintf("%s of %s cores", theme.Number(c.HostCPUCores), theme.Number(c.HostCores)))
	client.If(writes, "waited for a full buffer", doc.Plain, theme.Percent(c.BufferFullShare)+" of the time")
	client.If(writes, "requests in flight", doc.Plain, theme.Percent(c.InFlightShare)+" of those allowed")
	client.If(writes && sent != theme.Number(0), "sent, loopback not counted", doc.Plain, sent+" MiB/s")
	client.List("failed connects", theme.Count(c.FailedConnects))
	client.If(own.Count > 0, "own send delay", doc.Plain, fmt.Sprintf("p50 %s, p99 %s, max %s", theme.Duration(micros(own.P50)), theme.Duration(micros(own.P99)), theme.Duration(micros(own.Max))))
	if r.NotAddedUp != "" {
		client.Rows = nil
	}
	return doc.Section{ID: "environment", Title: "Environment", Columns: true, For: doc.InPage, Blocks: []doc.Block{host, cluster, client}}
}

// findings is what kt tune found on the machines when the run began, failures first, in a page.
func findings(r *result.Result) doc.Section {
	t := doc.NewTable("findings", "What kt tune found when the run began", "host|words", "verdict|words", "check|words", "is|words", "wanted|words", "why|words")
	t.Note = "kt tune --check says how this machine is now; kt tune --apply changes it, and can undo that."
	tones := map[string]doc.Tone{result.TuneFail: doc.Bad, result.TuneWarn: doc.Warn}
	for i := range r.Tune {
		for _, verdict := range []string{result.TuneFail, result.TuneWarn, result.TuneInfo} {
			for _, f := range r.Tune[i].Findings {
				if f.Verdict == verdict {
					t.Add(r.Tune[i].Host, doc.Cell{Text: f.Verdict, Tone: tones[verdict]}, doc.Cell{Text: f.Title, Note: f.ID}, f.Current, f.Wanted, f.Why)
				}
			}
		}
	}
	return doc.Section{ID: "tune", Title: "Findings of kt tune", For: doc.InPage, Blocks: []doc.Block{t}}
}

// parts has a row for each broker, for each of the busiest topics of several, and for each partition.
func parts(r *result.Result) doc.Section {
	s := doc.Section{ID: "parts", Title: "Brokers and partitions", Captions: true}
	writes := writes(&r.Header)
	if writes {
		s.Blocks = append(s.Blocks, brokers("brokers", "acknowledged by", "brokers: acknowledged records, time of a request", r.Brokers))
	}
	read := fetched(r.Brokers)
	t := brokers("fetches", "read from", "fetches: records read, time of a request", read)
	if writes && !slices.ContainsFunc(read, func(b result.BrokerRow) bool { return b.ThrottleMS > 0 }) {
		t.For = doc.InDetails | doc.InPage
	}
	s.Blocks = append(s.Blocks, t)
	if len(r.Topics) > 0 {
		s.Title = "Brokers, topics and partitions"
		s.Blocks = append(s.Blocks, topics(r, busiestTopics, doc.InText|doc.InMarkdown), topics(r, maxRows, doc.InPage))
	}
	if !r.Environment.ByTopic {
		s.Blocks = append(s.Blocks, partitions(r))
	}
	return s
}

// brokers has a row for each broker, of its requests of one kind. Of RabbitMQ and Pulsar a row says only how long they throttled kt.
func brokers(id, from, caption string, rows []result.BrokerRow) *doc.Table {
	t := doc.NewTable(id, caption, "id", from+"|name|1", "records", "MiB|5", "request p50|2", "p99", "max|3", "throttled|4")
	t.Bare = true
	for i := range rows {
		b := &rows[i]
		l, carried := &b.Latency, b.Requests > 0 || b.Records > 0
		row := t.Add(b.ID, b.Addr, doc.Cell{Text: pick(carried, theme.Rate(float64(b.Records)), none), Bar: float64(b.Records)}, pick(carried, theme.Number(b.MiB), none),
			latencyOf(l, l.P50), doc.Cell{Text: latencyOf(l, l.P99), Bar: float64(l.P99)}, latencyOf(l, l.Max), theme.Duration(millis(&b.ThrottleMS)))
		if row.NoteTone = doc.Warn; b.Failed > 0 {
			row.Note = plural(b.Failed, "request") + " " + either(b.Failed, "was", "were") + " not answered"
		}
	}
	return t
}

// fetched returns the fetches from each broker, as requests to it.
func fetched(rows []result.BrokerRow) (of []result.BrokerRow) {
	for _, b := range rows {
		if f := b.Fetch; f != nil {
			of = append(of, result.BrokerRow{ID: b.ID, Addr: b.Addr, BrokerRequests: *f})
		}
	}
	return of
}

// partitions has a row for each partition, in a page.
func partitions(r *result.Result) doc.Block {
	count := max(r.Environment.Partitions(), len(r.Partitions)) // one that got nothing has no row
	t, add := rowTable(r, "partitions", plural(count, "partition"), r.Plan.Reads(), "partition|name", "leader")
	t.For = doc.InPage
	total, top := 0.0, 0.0
	for i := range r.Partitions {
		x := &r.Partitions[i]
		n := float64(pick(writes(&r.Header), x.Records, x.Consumed))
		total, top = total+n, max(top, n)
		if i < maxRows {
			add(x.RowFigures, pick(x.Topic != "", place(x), strconv.Itoa(int(x.ID))), x.Leader)
		}
	}
	if total > 0 {
		t.Caption += fmt.Sprintf("; skew %s (the fullest, in means)", theme.Number(top*float64(count)/total))
	}
	if more := len(r.Partitions) - maxRows; more > 0 {
		t.Note = theme.Plural(more, "more row is", "more rows are") + " in the run that this page holds: kt report FILE --output json."
	}
	return openable(t)
}
