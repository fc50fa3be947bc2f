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

const (
	maxRows  = 100 // of a table that only a page has; the document in the page has all
	openRows = 12  // rows of a page that nobody has to scroll past
)

// parts has a row for each broker and for each partition.
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
	s.Blocks = append(s.Blocks, t, partitions(r))
	return s
}

// brokers has a row for each broker, of its requests of one kind. Of RabbitMQ and Pulsar a row says only how long they throttled kt.
func brokers(id, from, caption string, rows []result.BrokerRow) *doc.Table {
	t := doc.NewTable(id, caption, "id", from+"|name|1", "records", "MiB|5", "request p50|2", "p99", "max|3", "throttled|4")
	t.Bare = true
	for i := range rows {
		b := &rows[i]
		l, carried, mib := &b.Latency, none, none
		if b.Requests > 0 || b.Records > 0 {
			carried, mib = theme.Rate(float64(b.Records)), theme.Number(b.MiB)
		}
		row := t.Add(b.ID, b.Addr, doc.Cell{Text: carried, Bar: float64(b.Records)}, mib, latencyOf(l, l.P50), doc.Cell{Text: latencyOf(l, l.P99), Bar: float64(l.P99)},
			latencyOf(l, l.Max), theme.Duration(millis(&b.ThrottleMS)))
		if row.NoteTone = doc.Warn; b.Failed > 0 {
			row.Note = plural(b.Failed, "request") + " " + either(b.Failed, "was", "were") + " not answered"
		}
	}
	return t
}

// fetched returns the fetches from each broker, as requests to it.
func fetched(rows []result.BrokerRow) []result.BrokerRow {
	var of []result.BrokerRow
	for _, b := range rows {
		if f := b.Fetch; f != nil {
			of = append(of, result.BrokerRow{
				ID: b.ID, Addr: b.Addr, Requests: f.Requests, Failed: f.Failed, Records: f.Records, MiB: f.MiB, Latency: f.Latency, ThrottleMS: f.ThrottleMS,
			})
		}
	}
	return of
}

// partitions has a row for each partition, in a page.
func partitions(r *result.Result) doc.Block {
	writes, reads := writes(&r.Header), r.Plan.Reads()
	t := doc.NewTable("partitions", "", "partition|name", "leader", "records", "MiB")
	if t.For = doc.InPage; writes {
		t.Head("mean", "p99", "max", "longest gap")
	}
	if reads {
		t.Head("read", "lag")
	}
	latency := func(us int64) string {
		if us == 0 {
			return none
		}
		return theme.Duration(micros(us))
	}
	total, top := int64(0), int64(0)
	for i := range r.Partitions {
		x := r.Partitions[i]
		if !writes {
			x.Records, x.MiB = x.Consumed, x.ConsumedMiB
		}
		total, top = total+x.Records, max(top, x.Records)
		if i >= maxRows {
			continue
		}
		name, gap := strconv.Itoa(int(x.ID)), none
		if x.Topic != "" {
			name = place(&x)
		}
		if x.LongestGap != nil {
			gap = theme.Duration(millis(&x.LongestGap.LengthMS))
		}
		row := []any{name, x.Leader, doc.Cell{Text: theme.Count(x.Records), Bar: float64(x.Records)}, theme.Number(x.MiB)}
		if writes {
			row = append(row, latency(x.ServiceMeanUS), doc.Cell{Text: latency(x.ServiceP99US), Bar: float64(x.ServiceP99US)}, latency(x.ServiceMaxUS), gap)
		}
		if reads {
			row = append(row, theme.Count(x.Consumed), x.ConsumerLag.Or(none, theme.Count))
		}
		t.Add(row...)
	}
	count := max(r.Environment.Partitions(), len(r.Partitions)) // one that got nothing has no row
	if t.Caption = plural(count, "partition"); total > 0 {
		t.Caption += fmt.Sprintf("; skew %s (the fullest, in means)", theme.Number(float64(top)*float64(count)/float64(total)))
	}
	if more := len(r.Partitions) - maxRows; more > 0 {
		t.Note = theme.Plural(more, "more row is", "more rows are") + " in the run that this page holds: kt report FILE --output json."
	}
	if len(t.Rows) > openRows {
		return doc.Details{Summary: t.Caption, For: doc.InPage, Blocks: []doc.Block{t}}
	}
	return t
}
