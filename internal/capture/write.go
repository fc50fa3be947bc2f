package capture

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/theme"
)

// Options are how a workload is made of what was seen.
type Options struct {
	Similar float64 // topics whose figures differ by this share at most become one load
	Each    bool    // each topic is a load of its own
	Names   bool    // keep the names of topics and groups

	// Payloads returns the path of the file for the values of a load that were kept; nil: there are none.
	Payloads func(load string) string
}

// meanTime is how long a load goes on whose rate is one mean.
const meanTime = 10 * time.Minute

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
	var idle []*Topic
	f.classes, idle = c.classes(o)
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

// note writes a comment of its own.
func (f *file) note(indent, format string, args ...any) {
	fmt.Fprintf(&f.text, "%s# %s\n", indent, strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " "))
}

// set writes a value of a load, with how it was learned.
func (f *file) set(key, value string, how ...string) {
	fmt.Fprintf(&f.text, "    %s: %s", key, value)
	if len(how) > 0 {
		fmt.Fprintf(&f.text, "  # %s", strings.Join(how, "; "))
	}
	f.text.WriteByte('\n')
}

// plain matches text that means itself in YAML.
var plain = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._-]*$`)

// word returns text as YAML has it.
func word(text string) string {
	if plain.MatchString(text) && !slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}, strings.ToLower(text)) {
		return text
	}
	return strconv.Quote(text)
}

// words returns a list as YAML has it.
func words(texts []string) string {
	quoted := make([]string, len(texts))
	for i, t := range texts {
		quoted[i] = word(t)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// how returns a comment on a value.
func how(sure Sure, format string, args ...any) string {
	return string(sure) + ": " + fmt.Sprintf(format, args...)
}

// head writes what was looked at, and what is not among the loads.
func (f *file) head(idle []*Topic) {
	f.note("", "Captured by kt from %s %s with %s, %s.", f.System, f.Version, theme.Plural(f.Brokers, "broker", "brokers"), f.At.UTC().Format("2006-01-02 15:04 UTC"))
	f.note("", "Rates are of %s. Make it with: kt run FILE (--scale 2 doubles the rates, --speed 24 makes a day of stages an hour).", brief(f.Last))
	f.note("", "Each value says how it was learned: measured, estimated, or assumed because it cannot be seen.")
	if f.Names {
		f.note("", "Names of topics and groups are those of the cluster.")
	} else {
		f.note("", "Names of topics and groups are replaced: topic-01 had the most bytes/s.")
	}
	for _, n := range f.Notes {
		f.note("", "%s", n)
	}
	if len(idle) > 0 {
		f.note("", "%s had no records in this time, and no load.", theme.Plural(len(idle), "topic", "topics"))
	}
	for i := range f.Groups {
		g := &f.Groups[i]
		if why := f.leftOut(g); why != "" {
			name := numbered("group", i, len(f.Groups))
			if f.Names {
				name = g.Name
			}
			f.note("", "%s has no load: %s", name, why)
		}
	}
	fmt.Fprintf(&f.text, "about: %s\nloads:\n", word("Captured from "+f.System+" on "+f.At.UTC().Format("2006-01-02")))
}

// leftOut returns why a group has no load; "": it has one.
func (f *file) leftOut(g *Group) string {
	small := func(t string) bool {
		return slices.ContainsFunc(f.classes, func(c *class) bool {
			return c.name == "rest" && slices.ContainsFunc(c.topics, func(of *Topic) bool { return of.Name == t })
		})
	}
	switch {
	case g.Members == 0:
		return fmt.Sprintf("nobody reads in it now; %s wait", theme.Plural(g.Lag, "record", "records"))
	case !slices.ContainsFunc(g.Topics, func(t string) bool { return f.names[t] != "" }):
		return "its topics had no records"
	case !slices.ContainsFunc(g.Topics, func(t string) bool { return f.names[t] != "" && !small(t) }):
		return fmt.Sprintf("it reads topics of the load rest alone, with %s", theme.Plural(g.Members, "member", "members"))
	}
	return ""
}

// length returns how long the loads go on.
func (f *file) length() string {
	if f.Stage > 0 {
		return brief(f.Last)
	}
	return brief(meanTime)
}

// brief returns a time without the parts that are 0.
func brief(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// rate returns the rate of topics, in stages where there are some.
func (f *file) rate(c *class) (rate string, stages int) {
	stages = len(c.topics[0].Rates)
	if slices.ContainsFunc(c.topics, func(t *Topic) bool { return len(t.Rates) != stages }) || stages < 2 {
		return number(c.sum((*Topic).Mean)), 1
	}
	var texts []string
	for i := range stages {
		texts = append(texts, number(c.sum(func(t *Topic) float64 { return t.Rates[i] }))+"@"+brief(f.Stage))
	}
	return strings.Join(texts, ","), stages
}

// produce writes the load that topics become.
func (f *file) produce(c *class) error {
	t, count := c.topics[0], len(c.topics)
	fmt.Fprintf(&f.text, "  - name: %s\n", word(c.name))
	if c.name == "rest" {
		f.note("    ", "%s, each below 0.1%% of the bytes; all but the rate is that of the busiest of them", theme.Plural(count, "topic", "topics"))
	}
	for _, n := range t.Notes {
		f.note("    ", "%s", n)
	}
	f.set("command", "produce")
	switch {
	case f.Names:
		f.set("topic", word(list(c.all(), f.classes, f.names)))
	case count > 1:
		f.set("topic", word(c.name))
		f.set("topics", strconv.Itoa(count), how(Measured, "so many are alike"))
	default:
		f.set("topic", word(c.name))
	}
	f.set("partitions", strconv.Itoa(t.Partitions), string(Measured))
	f.set("replication-factor", strconv.Itoa(t.Replicas), string(Measured))
	if configs := settings(t.Configs); len(configs) > 0 {
		f.set("topic-config", words(configs), how(Measured, "differs from the defaults"))
	}
	rate, stages := f.rate(c)
	counts, idempotent := "counts", ""
	if f.System == "kafka" {
		counts, idempotent = "offsets", "idempotent "
	}
	over := fmt.Sprintf("%s of %s", counts, brief(cmp.Or(t.Live, f.Last)))
	if t.Live > 0 {
		over += " while kt looked"
	}
	f.set("rate", rate, how(t.Sure, "%s", over))
	if stages < 2 {
		f.set("duration", f.length(), how(Assumed, "the rate is a mean"))
	}
	producers := int(c.sum(func(t *Topic) float64 { return float64(t.producers()) }))
	switch {
	case producers == 0:
		producers = 1
		f.set("producers", "1", how(Assumed, "cannot be seen"))
	default:
		producers = min(producers, plan.MaxClients)
		f.set("producers", strconv.Itoa(producers), how(Measured, "%sproducers that were active", idempotent))
	}
	if count > 1 && producers%count == 0 {
		f.set("topic-distribution", plan.OwnTopics, how(Assumed, "as many producers for each topic"))
	}
	return f.records(c, producers)
}

// all returns the names of the topics.
func (c *class) all() (names []string) {
	for _, t := range c.topics {
		names = append(names, t.Name)
	}
	return names
}

// producers returns how many producers are known; 0: none is.
func (t *Topic) producers() int {
	if t.Producers == 0 && t.Records != nil {
		return len(t.Records.Producers)
	}
	return t.Producers
}

// settings returns the settings of a topic that another cluster may take.
func settings(configs map[string]string) (texts []string) {
	for _, name := range slices.Sorted(maps.Keys(configs)) {
		if !strings.HasSuffix(name, ".throttled.replicas") { // numbers of brokers
			texts = append(texts, name+"="+configs[name])
		}
	}
	return texts
}

// consume writes the load that a group becomes.
func (f *file) consume(g *Group, name string) {
	if f.leftOut(g) != "" {
		return
	}
	fmt.Fprintf(&f.text, "  - name: %s\n", name)
	for _, n := range g.Notes {
		f.note("    ", "%s", n)
	}
	f.set("command", "consume")
	group := name
	if f.Names {
		group = g.Name
	}
	if f.System != "rabbitmq" { // whose consumers are in none
		f.set("group", word(group))
	}
	f.set("topic", word(list(g.Topics, f.classes, f.names)), string(Measured))
	f.set("consumers", strconv.Itoa(min(g.Members, plan.MaxClients)), string(Measured))
	switch {
	case f.System == "pulsar" && g.Protocol != "":
		f.set("command-property", words([]string{"subscription.type=" + g.Protocol}), string(Measured))
	case g.Protocol != "":
		f.set("group-protocol", g.Protocol, string(Measured))
	}
	const behind = 0.9 // of what is written: it lags more and more
	if g.Lag > 0 && g.Rate > 0 && g.Rate < behind*g.Written {
		work := time.Duration(float64(g.Members) / g.Rate * float64(time.Second)).Round(time.Microsecond)
		f.set("processing-time", work.String(), how(Estimated, "it reads %s of %s records/s and is behind, so its members are busy", number(g.Rate), number(g.Written)))
	}
	if g.Commit > 0 && g.Protocol != "share" {
		f.set("command-property", words([]string{fmt.Sprintf("auto.commit.interval.ms=%d", g.Commit.Milliseconds())}), how(Estimated, "offsets that were committed"))
	}
	f.set("duration", f.length(), how(Assumed, "as long as its topics are written"))
}

// share returns a part of a whole as text.
func share(part, whole int64) string {
	return theme.Percent(float64(part) / math.Max(float64(whole), 1))
}
