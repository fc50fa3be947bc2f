package workload

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/template"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/study"
)

// OMB is one workload of OpenMessaging Benchmark with one of its drivers: one load, which needs topics of its own.
type OMB struct {
	Workload

	Find    bool     // the highest rate is searched for, as kt find does: the load has no rate and no end
	Notices []string // what kt does in another way, each with its place in a file if it has one
}

// OMBOptions are what is beside the files of OpenMessaging Benchmark.
type OMBOptions struct {
	Set    []config.Assignment // of workload.KEY, driver.KEY and driver.BLOCK.KEY, instead of a value in the files; others are passed over
	Shared []config.Assignment // flags that all loads get
	Kafka  config.Kafka        // the properties of Kafka's clients
}

// measuredOtherwise is the notice of every load.
const measuredOtherwise = "latency counts from when a record was due here, and from when it was sent in OpenMessaging Benchmark: " +
	"a producer that cannot keep its rate shows in kt's figures, and service is the one to compare"

// ReadOMB reads workloads and drivers of OpenMessaging Benchmark, and returns all pairs of them, the drivers of one workload one after
// the other. The error has every problem, each on a line of its own with its place. Nothing but files is touched.
func ReadOMB(drivers, workloads []string, o OMBOptions) (all []OMB, err error) {
	for _, path := range workloads {
		for _, driver := range drivers {
			w := &omb{OMBOptions: o, OMB: OMB{Notices: []string{measuredOtherwise}}}
			w.Name, w.load.Name = baseName(path)+"-"+baseName(driver), baseName(path)
			w.OMB.Places = map[string]string{"load " + w.load.Name: path + ":1:1"}
			if wrong := w.workload(path, driver); wrong != nil {
				err = errors.Join(err, wrong)
				continue
			}
			w.load.Typed = slices.DeleteFunc(slices.Clone(w.load.Flags), func(f study.Flag) bool { // who names a file answers for it, but for its addresses
				return !w.logsIn && (f.Name == "bootstrap-server" || f.Name == "url")
			})
			w.OMB.Loads = []study.Load{w.load}
			all = append(all, w.OMB)
		}
	}
	return all, err
}

// notOfNames matches what is in no name of a load, or does not begin one.
var notOfNames = regexp.MustCompile(`^[^a-zA-Z0-9]+|[^a-zA-Z0-9_-]`)

// baseName returns the name of a file without its ending, as the name of a load, which has 64 letters at most.
func baseName(path string) string {
	name := strings.TrimPrefix(notOfNames.ReplaceAllString(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), "-"), "-")
	return cmp.Or(name[:min(len(name), 64)], "load")
}

// ombKind is a kind of files, as omb.yaml has it.
type ombKind struct {
	Keys  map[string]any
	Told  map[string]string
	Rules []struct{ When, Flag, Address, Refuse, Notice, Text string }
}

//go:embed omb.yaml
var ombYAML []byte

// ombKinds are the kinds of files: a workload, every driver, and those of each class.
var ombKinds = sync.OnceValue(func() (all map[string]*ombKind) {
	if err := yaml.Unmarshal(ombYAML, &all); err != nil {
		panic(err) // it is a part of kt
	}
	return all
})

// ombFuncs are what rules can call.
var ombFuncs = template.FuncMap{
	"clients": clients, "lower": strings.ToLower,
	"mul":    func(a, b int) int { return a * b },
	"rest":   func(share float64) string { return decimal(1 - share) },
	"number": decimal,
	"gib":    func(n float64) int64 { return int64(n * (1 << 30)) },
	"minutes": func(all ...float64) (d time.Duration) {
		for _, n := range all {
			d += time.Duration(n * float64(time.Minute))
		}
		return d
	},
}

func decimal(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// clients returns how many clients topics have together, so many each. If those are too many, each topic has as many as any other.
func clients(topics, each int) int {
	n := min(topics*each, plan.MaxClients)
	for n < topics*each && n%topics != 0 && topics%n != 0 {
		n--
	}
	return n
}

// omb is a pair of files while it is translated.
type omb struct {
	OMB
	OMBOptions
	*study.Parser // of the file that is read

	path   string // of that file
	root   *yaml.Node
	lines  []string
	values map[string]any // of the keys of both files, and what else rules know
	load   study.Load
	logsIn bool // at addresses and with credentials of the driver
}

// given reports whether all loads get one of some flags.
func (w *omb) given(flags ...string) bool {
	return slices.ContainsFunc(w.Shared, func(a config.Assignment) bool { return slices.Contains(flags, a.Name) })
}

func (w *omb) add(flag, value string) {
	w.load.Flags = append(w.load.Flags, study.Flag{Name: flag, Value: value})
}

// at returns the node of a key, or the whole file.
func (w *omb) at(key string) *yaml.Node { return cmp.Or(w.Places()[key], w.root) }

// notice tells what kt does in another way than a key says.
func (w *omb) notice(n *yaml.Node, format string, args ...any) {
	w.Notices = append(w.Notices, fmt.Sprintf("%s:%d:%d: %s", w.path, n.Line, n.Column, fmt.Sprintf(format, args...)))
}

// open reads a file, and puts the values of --set that are of it in their places. what is workload or driver.
func (w *omb) open(path, what string) error {
	text, err := input.Read(path, input.Settings)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	w.path, w.lines, w.Parser = path, strings.Split(string(text), "\n"), study.NewParser(path, nil)
	w.root, err = input.YAML(text, func(line int) string { return path + ":" + strconv.Itoa(line) })
	if err == nil && (w.root == nil || w.root.Kind != yaml.MappingNode) {
		err = fmt.Errorf("%s:1: it is no %s of OpenMessaging Benchmark: write KEY: VALUE lines", path, what)
	}
	for _, s := range w.Set {
		if key, ok := strings.CutPrefix(s.Name, what+"."); ok && err == nil {
			put(w.root, key, strings.Join(s.Values, ","))
		}
	}
	return err
}

// put sets the value of a key of a mapping, which may have parts: of a mapping below, or of a block of Java properties.
func put(n *yaml.Node, key, value string) {
	name, rest, isPart := strings.Cut(key, ".")
	for i := 0; i < len(n.Content); i += 2 {
		switch old := n.Content[i+1]; {
		case n.Content[i].Value != name:
			continue
		case !isPart:
			n.Content[i+1] = &yaml.Node{Kind: yaml.ScalarNode, Value: value, Line: old.Line, Column: old.Column}
		case old.Kind == yaml.MappingNode:
			put(old, rest, value)
		default:
			old.Value, old.Style = strings.TrimRight(old.Value, "\n")+"\n"+rest+"="+value, yaml.LiteralStyle
		}
		return
	}
	at := yaml.Node{Kind: yaml.ScalarNode, Value: name, Line: n.Line, Column: n.Column}
	under := at
	if under.Value = value; isPart { // only blocks may be missing
		under.Value, under.Style = rest+"="+value, yaml.LiteralStyle
	}
	n.Content = append(n.Content, &at, &under)
}

// follow reads the keys of a file of some kinds, and follows their rules. what is workload or driver.
func (w *omb) follow(what string, kinds ...*ombKind) error {
	known, into := make(map[string]any), make(map[string]reflect.Value)
	for _, kind := range kinds {
		w.read(kind, kind.Keys, known, into)
	}
	w.Mapping(w.root, what, known)
	for key, value := range into {
		w.values[key] = value.Elem().Interface()
	}
	if what == "workload" {
		if err := w.Err(); err != nil {
			return err
		}
		w.derive()
	}
	for _, kind := range kinds {
		for _, rule := range kind.Rules {
			var b strings.Builder
			t := template.Must(template.New("").Funcs(ombFuncs).Parse("{{if " + cmp.Or(rule.When, "true") + "}}=" + rule.Text + "{{end}}"))
			if err := t.Execute(&b, w.values); err != nil {
				panic(err) // the table is a part of kt
			}
			text, holds := strings.CutPrefix(b.String(), "=")
			switch {
			case !holds:
			case rule.Flag != "":
				w.add(rule.Flag, text)
			case rule.Address != "":
				w.address(rule.Address, text)
			case rule.Refuse != "":
				w.Bad(w.at(rule.Refuse), "%s%s", strings.TrimPrefix(rule.Refuse+": ", "file: "), text)
			default:
				w.notice(w.at(rule.Notice), "%s", text)
			}
		}
	}
	return w.Err()
}

// read makes variables for the keys of a mapping, and finds out how each key is read.
func (w *omb) read(kind *ombKind, keys, known map[string]any, into map[string]reflect.Value) {
	for key, value := range keys {
		switch value := value.(type) {
		case nil:
			known[key] = func(n *yaml.Node) { w.notice(n, "%s has no effect: %s", key, kind.Told[key]) }
		case map[string]any:
			below := make(map[string]any)
			w.read(kind, value, below, into)
			known[key] = func(n *yaml.Node) { w.Mapping(n, key, below) }
		case []any:
			into[key] = reflect.ValueOf(new([]string))
			known[key] = into[key].Interface()
		default:
			into[key] = reflect.New(reflect.TypeOf(value))
			into[key].Elem().Set(reflect.ValueOf(value))
			known[key] = into[key].Interface()
		}
	}
}

// workload translates the file of a workload, and then that of a driver.
func (w *omb) workload(path, driver string) error {
	w.values = map[string]any{"maxTopics": plan.MaxTopics, "maxClients": plan.MaxClients, "stampBytes": plan.StampBytes, "file": "", "fileBytes": 0}
	if err := w.open(path, "workload"); err != nil {
		return err
	}
	if err := w.follow("workload", ombKinds()["workload"]); err != nil {
		return err
	}
	w.About, w.load.Command = w.values["name"].(string), string(plan.Roundtrip)
	if w.values["subscriptionsPerTopic"] == 0 {
		w.load.Command = string(plan.Produce)
	}
	return w.driver(driver)
}

// derive finds out whether the highest rate is searched for, and where the payload file is: beside the workload, as it is named, or beside
// the folder of the workload, as in a checkout.
func (w *omb) derive() {
	w.Find = w.values["producerRate"] == 0.0
	w.values["find"] = w.Find
	dir, name := filepath.Dir(w.path), w.values["payloadFile"].(string)
	places := []string{filepath.Join(dir, name), name, filepath.Join(dir, "..", name)}
	if filepath.IsAbs(name) {
		places = places[1:2]
	}
	for _, path := range places {
		if info, err := os.Stat(path); err == nil && name != "" {
			w.values["file"], w.values["fileBytes"] = path, int(info.Size())
			return
		}
	}
}
