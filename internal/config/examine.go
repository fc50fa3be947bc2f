package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/suggest"
	"github.com/kt-bench/kt/internal/theme"
)

// Actions of kt tune, each a flag: at most one is given.
const (
	ActionCheck    = "check"
	ActionApply    = "apply"
	ActionDryRun   = "dry-run"
	ActionScript   = "script"
	ActionAnsible  = "ansible"
	ActionRollback = "rollback"
	ActionStatus   = "status"
	ActionHints    = "hints"
	ActionExplain  = "explain"
	ActionList     = "list"
)

var actions = []string{ActionCheck, ActionApply, ActionDryRun, ActionScript, ActionAnsible, ActionRollback, ActionStatus, ActionHints, ActionList}

// Tune is the settings of kt tune.
type Tune struct {
	form    `flag:",squash"`
	Action  string
	Explain string `flag:"explain"` // the ID

	Role     string        `flag:"role"`
	Profile  string        `flag:"profile"`
	Dirs     []string      `flag:"dirs"`
	PID      int           `flag:"pid"`
	Unit     string        `flag:"unit"`
	Root     string        `flag:"root"`
	Interval time.Duration `flag:"interval"` // for which counters are watched; 0: since boot
	Brokers  int           `flag:"brokers"`

	Only    []string `flag:"only"`
	Skip    []string `flag:"skip"`
	Strict  bool     `flag:"strict"`
	Probe   bool     `flag:"probe"`
	Verbose bool     `flag:"verbose"`
	All     bool     `flag:"all"`
	Runtime bool     `flag:"runtime"` // one alone: only that; none or both: both
	Persist bool     `flag:"persist"`
	Yes     bool     `flag:"yes"`
	Force   bool     `flag:"force"`
}

func (t *Tune) check(p *problems) {
	for _, action := range append(actions, ActionExplain) {
		switch {
		case !is[bool](&t.layers, action) && (action != ActionExplain || !t.isTyped(action)):
		case t.Action == "", t.Action == ActionApply && action == ActionDryRun: // together they only show the changes
			t.Action = action
		default:
			p.bad("", nil, "--%s and --%s: give only one of them", t.Action, action)
		}
	}
	t.Action = cmp.Or(t.Action, ActionCheck)
	t.fits(p)
}

// fits refuses flags that the action would ignore.
func (t *Tune) fits(p *problems) {
	changes := []string{ActionApply, ActionDryRun, ActionScript, ActionAnsible}
	confirmed := []string{ActionApply}
	if is[bool](&t.layers, ActionApply) { // --dry-run beside it
		confirmed = append(confirmed, ActionDryRun)
	}
	for _, f := range []struct {
		flag string
		with []string
	}{
		{"runtime", changes},
		{"persist", changes},
		{"yes", confirmed},
		{"force", []string{ActionRollback}},
		{"strict", []string{ActionCheck}},
		{"probe", append([]string{ActionCheck}, changes...)},
		{"brokers", []string{ActionHints}},
		{"html", []string{ActionCheck}},
	} {
		if t.isTyped(f.flag) && !t.isRefused(f.flag) && !slices.Contains(f.with, t.Action) {
			p.bad("", nil, "--%s does not go with --%s: it goes with --%s", f.flag, t.Action, strings.Join(f.with, ", --"))
		}
	}
	outputs := DocumentOutputs
	if slices.Contains([]string{ActionApply, ActionScript, ActionAnsible, ActionRollback}, t.Action) {
		outputs = []string{"text"}
	}
	switch {
	case slices.Contains(outputs, t.Output):
	case t.isTyped("output"):
		p.bad("output", t.Output, "--%s supports only %s", t.Action, strings.Join(outputs, " and "))
	default:
		t.Output = "text" // a file or the environment sets it for every command
	}
	if t.Action != ActionCheck {
		t.HTML = "" // likewise
	}
	if t.PID > 0 && t.Unit != "" {
		p.bad("", nil, "--pid and --unit: give only one of them")
	}
}

// Again returns the typed flags that choose the machine and the checks, for a command that kt
// suggests: an --apply after a --check has to check the same machine in the same way. A pid other
// than 0 replaces --pid and --unit.
func (t *Tune) Again(pid int) string {
	typed := ""
	for _, name := range []string{"role", "profile", "dirs", "pid", "unit", "root", "only", "skip"} {
		switch {
		case name == "pid" && pid != 0:
			typed += fmt.Sprintf(" --pid %d", pid)
		case t.isTyped(name) && (name != "unit" || pid == 0):
			typed += " --" + name + " " + theme.Quoted(t.text(name))
		}
	}
	if t.Probe {
		typed += " --probe"
	}
	return typed
}

// Probe is the settings of kt probe.
type Probe struct {
	form     `flag:",squash"`
	Mode     string        `flag:"mode"`
	Tests    []string      `flag:"tests"`
	Size     int64         `flag:"size"` // bytes of each directory at most; 0: by the mode
	Blocks   []int64       `flag:"blocks"`
	Direct   []bool        `flag:"direct"` // of the rows of dd
	DD       bool          `flag:"dd"`     // the rows of dd, and nothing else
	Compare  string        `flag:"compare"`
	Force    bool          `flag:"force"`
	Duration time.Duration `flag:"duration"` // of each test; 0: by the mode
}

func (p *Probe) check(found *problems) {
	p.DD = p.DD || len(p.Blocks) > 0 || len(p.Direct) > 0
	if p.DD && (len(p.Tests) > 0 || p.isTyped("mode")) {
		found.bad("", nil, "--dd does not go with --mode or --tests")
	}
}

// Target is the cluster that a command looks at, as a client of it.
type Target struct {
	URL       string   `flag:"url"` // of another system than Kafka; "": none
	Bootstrap []string `flag:"bootstrap-server"`
	ClientIDs []string // of the clients of the load; nil: kt's own
	Security  Security
	Warnings  []string
}

// find takes the cluster from the layers of a command, and from the properties of a client of Kafka.
func (t *Target) find(l *layers, p *problems) {
	b := &builder{layers: l, problems: p}
	t.client(b)
	if chosen := b.chosen("bootstrap-server", "url"); chosen != "url" && len(t.Bootstrap) > 0 {
		t.URL = "" // of a layer below
	}
	if p.err() == nil && len(l.refused()) == 0 && len(t.Bootstrap) == 0 && t.URL == "" {
		p.add(needs("kt " + l.command + " needs a cluster: give --bootstrap-server HOST:PORT, set KT_BOOTSTRAP_SERVER, or name one of your file with --cluster"))
	}
	t.Warnings = b.warnings
}

// Doctor is the settings of kt doctor.
type Doctor struct {
	Target    `flag:",squash"`
	form      `flag:",squash"`
	Topic     string        `flag:"topic"`
	Duration  time.Duration `flag:"duration"` // of the load to be made
	ReadOnly  bool          `flag:"read-only"`
	Protected string        // the name of the protected cluster that is examined; "": none
	Yes       bool          `flag:"yes"` // try rights there too
}

func (d *Doctor) check(p *problems) {
	d.find(&d.layers, p)
	d.Protected = d.protected(d.Bootstrap)
}

// Capture is the settings of kt capture.
type Capture struct {
	Target `flag:",squash"`
	base
	Last       time.Duration `flag:"last"`
	Stage      time.Duration `flag:"stages"` // 0: the rates are means
	Live       time.Duration `flag:"live"`   // 0: history is asked for
	Similar    float64       `flag:"similar"`
	Each       bool          `flag:"each"`
	Names      bool          `flag:"names"`
	Payloads   int           `flag:"payloads"`
	Sample     int64         `flag:"sample"`      // bytes
	SampleRate plan.Rate     `flag:"sample-rate"` // in bytes
	Lookups    plan.Rate     `flag:"lookups"`
	Quiet      bool          `flag:"quiet"`
}

func (c *Capture) check(p *problems) {
	c.find(&c.layers, p)
	if !c.SampleRate.Bytes && c.SampleRate.PerSecond > 0 {
		p.bad("sample-rate", c.SampleRate.String(), "give bytes a second: 5MiB/s")
	}
	switch {
	case c.Stage > 0 && c.Live > 0:
		p.exclude("stages", "live")
	case c.Stage > 0 && (c.Last%c.Stage != 0 || c.Stage%time.Second != 0 || c.Last/c.Stage > plan.MaxStages):
		p.bad("stages", c.Stage, "--last %s has to be a whole number of them, %d at most, in whole seconds", theme.Duration(c.Last), plan.MaxStages)
	}
}

// client takes what counts here from the properties of a client of Kafka: the brokers, the client id and the security.
func (t *Target) client(b *builder) {
	c := newClient("client", Client{Has: func(string) bool { return true }})
	b.clients = []*client{c}
	b.readProperties(c, "command-config", b.text("command-config"))
	b.putPairs(c, "command-property")
	b.own(c, "bootstrap-server", bootstrapProperty, strings.Join(t.Bootstrap, ","))
	b.provide(c)
	t.Security = b.security()
	kafka := b.sys.Kafka
	for _, name := range slices.Sorted(maps.Keys(c.given)) {
		if g := c.given[name]; !kafka.Producer.Has(name) && !kafka.Consumer.Has(name) {
			b.warn("Warning: no client of kt has the property %s (from %s)%s", name, g.Source, suggest.Hint(name, slices.Concat(kafka.Producer.Names, kafka.Consumer.Names), ""))
		}
	}
	if g, given := c.given[bootstrapProperty]; given {
		t.Bootstrap = addresses(g.Value)
	}
	if g, given := c.given["client.id"]; given {
		t.ClientIDs = []string{g.Value}
	}
}
