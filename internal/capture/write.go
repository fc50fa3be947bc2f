package capture

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/theme"
)

// Options are how a workload is made of what was seen.
type Options struct {
	Similar  float64                  // topics whose figures differ by this share at most become one load
	Each     bool                     // each topic is a load of its own
	Names    bool                     // keep the names of topics and groups
	Payloads func(load string) string // the path of the file for the values of a load that were kept; nil: none are written
}

// file is a workload while it is written.
type file struct {
	*Cluster
	Options
	text     bytes.Buffer
	classes  []*class
	names    map[string]string // of topics, in the file
	payloads map[string][]byte // by path
}

// Write writes what was seen as a workload for kt run. It returns what the files of payloads hold, by their paths.
func (c *Cluster) Write(w io.Writer, o Options) (map[string][]byte, error) {
	f := &file{Cluster: c, Options: o, payloads: make(map[string][]byte)}
	var idle int
	if f.classes, idle = c.classes(o); len(f.classes) == 0 {
		if len(c.Topics) == 0 {
			return nil, errors.New("no topic was seen: there is none, or this client may not see them")
		}
		longer := map[bool]string{true: " (--last 24h looks at a longer time)"}[c.Last < 24*time.Hour]
		return nil, fmt.Errorf("no topic had a record in %s: there is no load to capture%s", c.Last, longer)
	}
	f.names = rename(f.classes, o)
	f.head(idle)
	for _, class := range f.classes {
		if err := f.produce(class); err != nil {
			return nil, fmt.Errorf("%s: %w", class.name, err)
		}
	}
	for i := range c.Groups {
		f.consume(&c.Groups[i], numbered("group", i, len(c.Groups)))
	}
	_, err := w.Write(f.text.Bytes())
	return f.payloads, err
}

// note writes comments on lines of their own.
func (f *file) note(indent string, texts ...string) {
	for _, text := range texts {
		fmt.Fprintf(&f.text, "%s# %s\n", indent, strings.Join(strings.Fields(text), " "))
	}
}

// set writes a value of a load, with a comment on how it was learned.
func (f *file) set(key string, value any, sure Sure, why string, args ...any) {
	comment := strings.Trim(string(sure)+": "+fmt.Sprintf(why, args...), ": ")
	if comment != "" {
		comment = "  # " + comment
	}
	fmt.Fprintf(&f.text, "    %s: %v%s\n", key, value, comment)
}

// words returns a list as YAML has it.
func words(texts []string) string {
	quoted := make([]string, len(texts))
	for i, t := range texts {
		quoted[i] = strconv.Quote(t)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// head writes what was looked at, and what is not among the loads.
func (f *file) head(idle int) {
	f.note("", fmt.Sprintf("Captured by kt from %s %s with %s, %s.", f.System, f.Version, theme.Plural(f.Brokers, "broker", "brokers"), f.At.UTC().Format("2006-01-02 15:04 UTC")),
		"Rates are of "+f.Last.String()+". Make it with: kt run FILE (--scale 2 doubles the rates, --speed 24 makes a day of stages an hour).",
		"Each value says how it was learned: measured, estimated, or assumed because it cannot be seen.")
	if !f.Names {
		f.note("", "Names of topics and groups are replaced: topic-01 had the most bytes/s.")
	}
	f.note("", f.Notes...)
	if idle > 0 {
		f.note("", theme.Plural(idle, "topic", "topics")+" had no records in this time, and no load.")
	}
	for i := range f.Groups {
		if why := f.leftOut(&f.Groups[i]); why != "" {
			f.note("", f.nameOf(&f.Groups[i], numbered("group", i, len(f.Groups)))+" has no load: "+why)
		}
	}
	fmt.Fprintf(&f.text, "about: A load of %s, captured on %s\nloads:\n", f.System, f.At.UTC().Format("2006-01-02"))
}

// nameOf returns the name of a group in the file.
func (f *file) nameOf(g *Group, otherwise string) string {
	if f.Names {
		return g.Name
	}
	return otherwise
}

// leftOut returns why a group has no load; "": it has one.
func (f *file) leftOut(g *Group) string {
	if g.Members == 0 {
		return "nobody reads in it now, and " + theme.Plural(g.Lag, "record waits", "records wait")
	}
	why := "its topics had no records"
	for _, c := range f.classes {
		switch {
		case !slices.ContainsFunc(c.topics, func(t *Topic) bool { return slices.Contains(g.Topics, t.Name) }):
		case c.name != restName:
			return ""
		default:
			why = "it reads topics of the load rest alone, with " + theme.Plural(g.Members, "member", "members")
		}
	}
	return why
}

// length returns how long the loads go on.
func (f *file) length() time.Duration {
	if f.Stage > 0 {
		return f.Last
	}
	return 10 * time.Minute
}

// produce writes the load that topics become.
func (f *file) produce(c *class) error {
	t, count := c.middle(), len(c.topics)
	fmt.Fprintf(&f.text, "  - name: %s\n", c.name)
	if c.name == restName {
		f.note("    ", theme.Plural(count, "topic", "topics")+", with less than 0.1% of the bytes. All but the rate is that of one in the middle.")
	}
	f.note("    ", t.Notes...)
	f.set("command", "produce", "", "")
	if f.Names {
		f.set("topic", list(c.topics, f.classes, f.names), "", "")
	} else if f.set("topic", c.name, "", ""); count > 1 {
		f.set("topics", count, Measured, "so many are alike; all but the rate is that of one in the middle")
	}
	f.set("partitions", t.Partitions, Measured, "")
	f.set("replication-factor", t.Replicas, Measured, "")
	var configs []string
	for _, name := range slices.Sorted(maps.Keys(t.Configs)) {
		if !strings.HasSuffix(name, ".throttled.replicas") { // numbers of brokers
			configs = append(configs, name+"="+t.Configs[name])
		}
	}
	if len(configs) > 0 {
		f.set("topic-config", words(configs), Measured, "differs from the defaults")
	}
	f.rate(c)
	producers := c.producers()
	if producers == 0 {
		f.set("producers", 1, Assumed, "cannot be seen")
	} else {
		f.set("producers", min(producers, plan.MaxClients), Measured, "those that are known by an id")
	}
	if count > 1 && producers >= count && producers <= plan.MaxClients {
		f.set("topic-distribution", plan.OwnTopics, Assumed, "each producer writes to one of them")
	}
	return f.records(c)
}

// rate writes the rate of topics, in stages where all have them.
func (f *file) rate(c *class) {
	t := c.middle()
	from := map[bool]string{true: "offsets of ", false: "counters of the brokers, of "}[f.System == "kafka"] + cmp.Or(t.Live, f.Last).String()
	if t.Live > 0 {
		from += " while kt looked"
	}
	if len(t.Rates) < 2 || slices.ContainsFunc(c.topics, func(o *Topic) bool { return len(o.Rates) != len(t.Rates) }) {
		f.set("rate", number(c.sum((*Topic).Mean)), t.Sure, "%s", from)
		f.set("duration", f.length(), Assumed, "the rate is a mean")
		return
	}
	var stages []string
	for i := range t.Rates {
		stages = append(stages, number(c.sum(func(t *Topic) float64 { return t.Rates[i] }))+"@"+f.Stage.String())
	}
	f.set("rate", strings.Join(stages, ","), t.Sure, "%s", from)
}

// consume writes the load that a group becomes.
func (f *file) consume(g *Group, name string) {
	if f.leftOut(g) != "" {
		return
	}
	fmt.Fprintf(&f.text, "  - name: %s\n", name)
	f.note("    ", g.Notes...)
	f.set("command", "consume", "", "")
	if f.System != "rabbitmq" { // where queues are
		f.set("group", strconv.Quote(f.nameOf(g, name)), "", "")
	}
	var reads []*Topic
	for i := range f.Topics {
		if slices.Contains(g.Topics, f.Topics[i].Name) {
			reads = append(reads, &f.Topics[i])
		}
	}
	f.set("topic", list(reads, f.classes, f.names), Measured, "")
	f.set("consumers", min(g.Members, plan.MaxClients), Measured, "")
	switch {
	case f.System == "pulsar":
		f.set("command-property", words([]string{"subscription.type=" + g.Protocol}), Measured, "")
	case g.Protocol != "":
		f.set("group-protocol", g.Protocol, Measured, "")
	}
	const (
		behind = 0.9 // of what is written
		late   = 10  // seconds of what is written: offsets are committed some seconds late
	)
	if float64(g.Lag) > late*g.Written && g.Rate > 0 && g.Rate < behind*g.Written {
		work := time.Duration(float64(g.Members) / g.Rate * float64(time.Second)).Round(time.Microsecond)
		f.set("processing-time", work, Estimated, "it reads %s of %s records/s, so its members are busy", number(g.Rate), number(g.Written))
	}
	if ms := int(g.Commit.Milliseconds()); ms > 0 && g.Protocol != "share" {
		f.set("command-property", words([]string{fmt.Sprint("auto.commit.interval.ms=", nearly(ms, 5000))}), Estimated, "offsets that were committed, every %s", g.Commit)
	}
	f.set("duration", f.length(), Assumed, "as long as its topics are written")
}

// nearly returns the default of a setting in place of an estimate that is near it.
func nearly(estimate, normal int) int {
	const near = 5 // one part in so many
	if estimate >= normal-normal/near && estimate <= normal+normal/near {
		return normal
	}
	return estimate
}
