package page

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// settings are those that somebody chose, and all of them to be opened.
func (p *runPage) settings() []Block {
	all := settingsTable("all-settings", "Every setting", p.r.Config, p.r.ConsumerConfig, func(result.Setting) bool { return true })
	all.Heads = slices.Concat(all.Heads[:2], all.Heads[3:4])
	for i, row := range all.Rows {
		all.Rows[i] = slices.Concat(row[:2], row[3:4]) // the JSON has their notes
	}
	return []Block{
		settingsTable("own-settings", "Properties of the clients that differ from the defaults", p.r.Config, p.r.ConsumerConfig,
			func(s result.Setting) bool { return s.Value != s.Default }),
		Details{Summary: fmt.Sprintf("All %d settings", len(all.Rows)), Blocks: []Block{all}},
		p.topicConfigs(),
	}
}

func settingsTable(id, caption string, producer, consumer []result.Setting, shown func(result.Setting) bool) Table {
	t := Table{ID: id, Caption: caption, Heads: texts("property", "value", "default", "source", "note")}
	for _, of := range []struct {
		who      string
		settings []result.Setting
	}{{"", producer}, {"consumer: ", consumer}} {
		if len(producer) == 0 {
			of.who = ""
		}
		for _, s := range of.settings {
			if shown(s) {
				t.Rows = append(t.Rows, cells(of.who+s.Name, s.Value, s.Default, s.Source, s.Note))
			}
		}
	}
	return t
}

// environment is the host, the cluster and the topic.
func (p *runPage) environment() []Block {
	e := &p.r.Environment
	if p.r.NotAddedUp != "" {
		return []Block{hostFacts(&e.Host), p.clusterFacts()}
	}
	return []Block{hostFacts(&e.Host), p.clusterFacts(), p.clientFacts()}
}

func hostFacts(h *host.Facts) Facts {
	f := Facts{Title: "This host"}
	f.add("name", h.Hostname)
	f.add("machine", h.Machine)
	f.add("system", cmp.Or(h.OS, "")+" "+h.Kernel+" "+h.Arch)
	f.add("CPU", h.CPUModel)
	f.add("CPUs", fmt.Sprintf("%d, kt may use %d", h.LogicalCPUs, h.GOMAXPROCS))
	f.add("memory", theme.Bytes(h.MemoryBytes))
	if h.CPULimitCores > 0 {
		f.add("CPU limit", theme.Number(h.CPULimitCores)+" cores")
	}
	if h.MemoryLimitBytes > 0 {
		f.add("memory limit", theme.Bytes(h.MemoryLimitBytes))
	}
	if h.NetworkSpeed > 0 {
		f.add("network", theme.Rate(float64(h.NetworkSpeed))+"bit/s")
	}
	f.add("clock source", h.ClockSource)
	f.add("container", h.Container)
	if h.Hypervisor {
		f.add("virtual machine", "yes")
	}
	f.add("Go", h.GoVersion)
	return f
}

func (p *runPage) clusterFacts() Facts {
	e := &p.r.Environment
	f := Facts{Title: "Cluster and topic"}
	if p.r.Embedded {
		f.add("brokers", "embedded in kt")
	}
	f.add("Kafka", e.Cluster.Version)
	f.add("cluster id", e.Cluster.ID)
	for _, b := range e.Cluster.Brokers {
		text := b.Addr
		if b.Rack != "" {
			text += ", rack " + b.Rack
		}
		f.add("broker "+strconv.Itoa(int(b.ID)), text)
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
		text := fmt.Sprintf("%s, replication factor %s", theme.Plural(t.Partitions, "partition", "partitions"), factor)
		if t.Created {
			text += ", created by this run"
		}
		f.add("topic "+t.Name, text)
	}
	return f
}

// topicConfigs are the configurations of the topics.
func (p *runPage) topicConfigs() Block {
	topics := p.r.Environment.Topics
	if len(topics) == 0 {
		topics = []result.Topic{p.r.Environment.Topic}
	}
	t := Table{ID: "topic-configs", Caption: "Configurations of the topic", Heads: texts("topic", "name", "value"), Note: moreThan(len(topics))}
	for _, topic := range topics[:min(maxRows, len(topics))] {
		for _, name := range slices.Sorted(maps.Keys(topic.Configs)) {
			t.Rows = append(t.Rows, cells(topic.Name, name, topic.Configs[name]))
		}
	}
	return Details{Summary: fmt.Sprintf("All %d configurations of the topic", len(t.Rows)), Blocks: []Block{t}}
}

func (p *runPage) clientFacts() Facts {
	c := &p.r.Client
	f := Facts{Title: "This client"}
	f.add("CPU", fmt.Sprintf("%s of %s cores", theme.Number(c.CPUCores), theme.Number(c.CoresAvailable)))
	f.add("CPU of the host", fmt.Sprintf("%s of %s cores", theme.Number(c.HostCPUCores), theme.Number(c.HostCores)))
	if c.CPUSecondsPerMillion > 0 {
		f.add("CPU a million records", theme.Number(c.CPUSecondsPerMillion)+" s")
	}
	f.add("peak memory", theme.Bytes(c.PeakResidentBytes))
	f.add("longest GC pause", theme.Duration(micros(c.GCPauseMaxUS)))
	if p.writes {
		f.add("waited for a full buffer", theme.Percent(c.BufferFullShare)+" of the time")
		f.add("requests in flight", theme.Percent(c.InFlightShare)+" of those allowed")
		if sent := theme.Number(c.NetSentMiBPerSecond); sent != theme.Number(0) {
			f.add("sent, loopback not counted", sent+" MiB/s")
		}
	}
	if b := p.r.Batches; b.Count > 0 {
		f.add("batches", fmt.Sprintf("%s records, %s each", theme.Number(b.RecordsMean), theme.Bytes(int64(b.BytesMean))))
	}
	f.add("failed connects", theme.Count(c.FailedConnects))
	if o := p.r.Latency.OwnSendDelay; o.Count > 0 {
		f.add("own send delay", fmt.Sprintf("p50 %s, p99 %s, max %s", theme.Duration(micros(o.P50)), theme.Duration(micros(o.P99)), theme.Duration(micros(o.Max))))
	}
	return f
}
