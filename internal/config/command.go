package config

import (
	"errors"
	"slices"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/plan"
)

// Look is how a command writes for people.
type Look struct {
	NoColor bool   `flag:"no-color"`
	ASCII   bool   `flag:"ascii"`
	Theme   string `flag:"theme"` // light, dark; auto: that of the terminal
}

// Forms of output: of loads, of commands that write a document, of a result that is written again, and of results that need no window.
var (
	Outputs         = []string{"tui", "text", "line", "json", "yaml", "jsonl", "csv", "perf-test", "markdown", "junit"}
	DocumentOutputs = []string{"text", "json", "yaml", "csv", "markdown", "html"}
	ReportOutputs   = append(slices.Clone(CollectOutputs), "hlog")
	CollectOutputs  = []string{"text", "line", "json", "yaml", "jsonl", "csv", "processes", "perf-test", "markdown", "junit", "hgrm", "html"}
	WorkloadOutputs = []string{"text", "json", "yaml", "jsonl", "csv", "line", "markdown", "junit", "html"}
	WatchOutputs    = []string{"text", "json", "jsonl", "markdown", "html"}
)

// base is the flags of a command, and the layers below the command line.
type base struct {
	layers
	into any // the settings of the command: their fields have the names of flags as tags
}

func (b *base) begin(set *pflag.FlagSet, rows, section string, into any) {
	for row := range strings.FieldsSeq(rows) {
		define(set, row)
	}
	b.layers, b.into = layers{flags: set, command: section}, into
}

// command is what settings have from base.
type command interface {
	begin(set *pflag.FlagSet, rows, section string, into any)
	Load(sys System) error
}

// commands are what defines the flags of each command, by its rows.
var commands = make(map[string]func(*pflag.FlagSet) command)

// settingsOf returns what defines the flags of the rows of a command on a set. section is the part of the files that is for it.
func settingsOf[T any, P interface {
	*T
	command
}](rows, section string) func(*pflag.FlagSet) P {
	define := func(set *pflag.FlagSet) P {
		p := P(new(T))
		p.begin(set, rows, section, p)
		return p
	}
	commands[rows] = func(set *pflag.FlagSet) command { return define(set) }
	return define
}

// Each defines the flags of a command on a set, and returns its settings, which have a method Load.
var (
	NewProduce     = settingsOf[Run]("produce", "produce")
	NewConsume     = settingsOf[Run]("consume", "consume")
	NewRoundtrip   = settingsOf[Run]("roundtrip", "roundtrip")
	NewStudyRun    = settingsOf[Study]("study", "study")
	NewStudyResume = settingsOf[Study]("study-made study-resume", "study")
	NewStudyReport = settingsOf[Study]("study-made", "study")
	NewFind        = settingsOf[Find]("find", "find")
	NewTrial       = settingsOf[Trial]("trial", "trial")
	NewOptimize    = settingsOf[Optimize]("optimize", "optimize")
	NewSize        = settingsOf[Size]("size", "size")
	NewCompare     = settingsOf[Compare]("compare", "compare")
	NewCalibrate   = settingsOf[Calibrate]("calibrate", "calibrate")
	NewDoctor      = settingsOf[Doctor]("doctor", "doctor")
	NewCapture     = settingsOf[Capture]("capture", "capture")
	NewTune        = settingsOf[Tune]("tune", "tune")
	NewProbe       = settingsOf[Probe]("probe", "probe")
	NewWatch       = settingsOf[Plain]("watch", "watch")
	NewReport      = settingsOf[Report]("report", "report")
	NewRuns        = settingsOf[Runs]("runs", "runs")
	NewPrune       = settingsOf[Prune]("prune", "prune")
	NewRemove      = settingsOf[Prune]("remove", "prune")
	NewWorkload    = settingsOf[Workload]("run", "run")
	NewCollect     = settingsOf[Collect]("collect", "collect")
	NewAgent       = settingsOf[Agent]("agent", "agent")
	NewPeers       = settingsOf[Peers]("peers", "peers")
	NewConfigure   = settingsOf[Configure]("config", "config")
	NewConfigFile  = settingsOf[Configure]("config-file", "config") // of commands that only read or write the files
	NewProfiles    = settingsOf[Plain]("profiles", "profiles")
)

// Load applies environment and configuration files, sets the fields of the command, and makes the checks that need no machine and no
// cluster. It returns every problem.
func (b *base) Load(sys System) error {
	wrong := b.apply(sys)
	if wrong != nil && sys.check == nil {
		return errors.Join(append([]error{wrong}, b.refused()...)...) // what was typed is told beside it
	}
	values := make(map[string]any)
	b.flags.VisitAll(func(f *pflag.Flag) {
		if v := valueOf(f); v != nil && v.is != nil {
			values[f.Name] = v.is
		}
	})
	d, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{Result: b.into, TagName: "flag", IgnoreUntaggedFields: true})
	if err == nil {
		err = d.Decode(values)
	}
	found := problems{err}
	if own, ok := b.into.(interface{ check(p *problems) }); ok {
		own.check(&found)
	}
	return errors.Join(wrong, b.sourced(found.err()))
}

// Written is how a command writes its document.
type Written struct {
	Output string `flag:"output"`
	Quiet  bool   `flag:"quiet"` // no progress
	HTML   string `flag:"html"`  // the file of a page; "": none
	Look   `flag:",squash"`
	Doubts `flag:",squash"`
}

// Doubts is what becomes of the doubts about a result.
type Doubts struct {
	Accept []string `flag:"accept"` // the ids of those that are left out
	Strict bool     `flag:"strict"` // one that is left is a fault
}

// How returns itself, for whoever knows only the settings.
func (w Written) How() Written { return w }

// form is the part that commands that write a document have in common.
type form struct {
	Written `flag:",squash"`
	base
}

// problems gathers what is wrong with values.
type problems []error

func (p *problems) bad(flag string, value any, why string, args ...any) {
	*p = append(*p, plan.Refuse(flag, value, why, args...))
}

func (p *problems) add(err error) { *p = append(*p, err) }

// exclude refuses all but one of some flags that are given.
func (p *problems) exclude(one, other string) {
	p.bad("", nil, "--%s and --%s exclude each other: give one", one, other)
}

func (p *problems) err() error { return errors.Join(*p...) }
