package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/workload"
	"github.com/kt-bench/kt/profiles"
)

// named makes a study that kt has in its shortest form, and makes its document again from its
// files: named NAME FLAGS…
func named(ts *testscript.TestScript, args []string) {
	short := []string{"study", "run", args[0], "--run-time", "300ms", "--repeats", "1", "--discard", "0", "--rest", "0", "--output", "json", "--quiet"}
	ts.Check(ts.Exec("kt", append(short, args[1:]...)...))
	text := ts.ReadFile("stdout")
	var doc study.Document
	ts.Check(json.Unmarshal([]byte(text), &doc))
	parts := []*study.Document{&doc}
	if doc.WholeDoc != nil {
		parts = nil
		for _, p := range doc.Parts {
			parts = append(parts, p.Study)
		}
	}
	for _, d := range parts {
		if d.Runs == 0 || d.Runs != d.Wanted {
			ts.Fatalf("%d of %d runs", d.Runs, d.Wanted)
		}
	}
	ts.Check(ts.Exec("kt", "study", "report", "--output", "json"))
	if diff := cmp.Diff(text, ts.ReadFile("stdout")); diff != "" {
		ts.Fatalf("its files say something else (-live +files):\n%s", diff)
	}
}

func TestEveryNamedStudyIsRun(t *testing.T) {
	script := must.Have(os.ReadFile("testdata/unraced/study_named.txtar"))(t)
	var onMachine []byte
	for _, name := range []string{"integration_find_test.go", "integration_systems_test.go"} {
		text := must.Have(os.ReadFile(name))(t)
		onMachine = append(onMachine, text...)
	}
	for _, name := range config.ProfileNames(profiles.Of("study")) {
		if !regexp.MustCompile(`(?m)^named `+regexp.QuoteMeta(name)+`( |$)`).Match(script) && !bytes.Contains(onMachine, []byte(`"`+name+`"`)) {
			t.Errorf("neither study_named.txtar nor an integration test runs %s", name)
		}
	}
}

// What an editor takes and what kt takes are the same keys.
func TestTheSchemasOfFilesKnowEveryKey(t *testing.T) {
	studies := map[string][]byte{"a search": []byte("load: {command: produce}\nfactors: {partitions: {search: 1..64, fine: 1}, acks: [1, all]}"), "a workload": []byte("load: {command: run, file: shop.yaml, scale: 2, orders.linger: 5ms}")}
	for _, name := range config.ProfileNames(profiles.Of("study")) {
		studies[name] = must.Have(studyText(name))(t)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	env := System()
	for kind, of := range map[string]struct {
		schema object
		parse  func(text string) error
		texts  map[string][]byte // files that are right, and by "" one a line of those that are not
	}{
		"study": {studySchema(newRoot(&env)), func(text string) error { return errOf(study.Parse("f.yaml", []byte(text), known)) }, studies},
		"workload": {workloadSchema(newRoot(&env)), parseWorkload, map[string][]byte{
			"of kt run --init": exampleWorkload, "of kt capture": []byte("{loads: [{name: a, command: produce, captured: {rate: 1, bytes: 1.5, batch-bytes: 2, batch-records: 2, ratio: 2, keys: 3, zipf: 1.1, unlike: [b]}}]}"),
			"": []byte("{loads: []}\n{loads: [{command: produce}]}\n{loads: [{name: p99, command: produce}]}\n{loads: [{name: a, command: produce, result: x}]}\n" +
				"{loads: [{name: a.b, command: produce}]}\n{loads: [{name: a, command: produce, prepare: x}]}\n{loads: [{name: a, command: read, topic: t}]}\n" +
				"{loads: [{name: a, command: produce, captured: {rate: -1}}]}\n{loads: [{name: a, command: produce, captured: {b: 1}}]}"),
		}},
	} {
		schema := must.Have(c.Compile("../docs/" + kind + "-file.schema.json"))(t)
		for name, text := range of.texts {
			for _, one := range strings.Split(string(text), map[bool]string{true: "\n", false: "\x00"}[name == ""]) {
				var file any
				must.Do(t, yaml.Unmarshal([]byte(one), &file))
				wrong := schema.Validate(file)
				must.Match(t, name == "", wrong != nil, "%s %s: %s: %v", kind, name, one, wrong)
				if kind == "workload" {
					must.Match(t, name == "", parseWorkload(one) != nil, "kt: %s", one)
				}
			}
		}
		err, want := of.parse("zzzzzzzz: 1"), strings.Join(slices.Sorted(maps.Keys(of.schema["properties"].(object))), ", ")
		must.True(t, err != nil && strings.Contains(err.Error(), "it may have "+want), "kt: %v; the schema: %s", err, want)
	}
}

// known is what kt run and kt study take for flags of loads.
func known(command, flag string) error { return config.CheckFlag(plan.Command(command), flag) }

// parseWorkload returns what is wrong with a workload.
func parseWorkload(text string) error { return errOf(workload.Parse("f.yaml", []byte(text), known)) }

func errOf(_ any, err error) error { return err }

// What is resumed without a name is the newest study that has something left to do.
func TestTheNewestUnfinishedStudyIsResumed(t *testing.T) {
	state := t.TempDir()
	env := Env{Getenv: func(name string) string { return map[string]string{"XDG_STATE_HOME": state}[name] }}
	dir := must.Have(env.studiesDir())(t)
	for id, log := range map[string]string{
		"1-older": "",
		"2-left":  `{"what":"began","turn":1,"topic":"one"}` + "\n",
		"3-done":  `{"what":"began","turn":1,"topic":"one"}` + "\n" + `{"what":"done","turn":1,"topic":"one"}` + "\n",
	} {
		must.Have(study.Create(dir, &study.Study{Loads: []study.Load{{Command: "produce"}}, Repeats: 1, Order: study.Listed}, id))(t)
		must.Do(t, os.WriteFile(dir+"/"+id+"/log.jsonl", []byte(log), 0o644))
	}
	for unfinished, want := range map[bool]string{true: "2-left", false: "3-done"} {
		f, _, err := env.openStudy(nil, unfinished)
		must.True(t, err == nil && f.ID == want, "unfinished %v: %+v, %v; want %s", unfinished, f, err, want)
	}
}

// The folder of its runs may have one that was cut off, or that goes on.
func TestTheRunsOfAStudyAreThoseThatItsLogCounts(t *testing.T) {
	dir := t.TempDir()
	must.Have(study.Create(dir, &study.Study{Loads: []study.Load{{Command: "produce"}}, Repeats: 2, Order: study.Listed}, "killed"))(t)
	must.Do(t, os.WriteFile(dir+"/killed/log.jsonl", []byte(`{"what":"done","turn":1}`+"\n"+`{"what":"began","turn":2}`+"\n"), 0o600))
	for _, file := range []string{"0001.ktr", "0002.ktr"} {
		must.Do(t, os.WriteFile(dir+"/killed/runs/"+file, nil, 0o600))
	}
	env := quietEnv()
	for _, name := range []string{"/killed", "/killed/runs", "/killed/runs/"} {
		must.Match(t, []string{dir + "/killed/runs/0001.ktr"}, must.Have(env.runsOf(dir+name))(t), name)
	}
}

// What cannot be read may have changed brokers and hosts, so kt study restore does not end well; it hinders no other study.
func TestAStudyThatCannotBeReadHindersNoOther(t *testing.T) {
	for what, spoil := range map[string]func(dir string) error{
		"study.json": func(dir string) error { return os.WriteFile(dir+"/study.json", []byte(`{"loads":`), 0o600) },
		"log.jsonl":  func(dir string) error { return os.WriteFile(dir+"/log.jsonl", []byte("\x00\x00\n"), 0o600) },
	} {
		state := t.TempDir()
		env := quietEnv()
		var said strings.Builder
		env.Stderr, env.Stdout = &said, io.Discard
		env.Getenv = func(name string) string { return map[string]string{"XDG_STATE_HOME": state}[name] }
		dir := must.Have(env.studiesDir())(t)
		for _, id := range []string{"1-older", "2-left", "3-bad"} {
			_, err := study.Create(dir, &study.Study{Loads: []study.Load{{Command: "produce"}}, Repeats: 1, Order: study.Listed}, id)
			if err == nil && id != "2-left" {
				err = os.WriteFile(dir+"/"+id+"/log.jsonl", []byte(`{"what":"left_out","cell":0,"reason":"r"}`+"\n"), 0o600)
			}
			must.Hold(t, err == nil, "%v", err)
		}
		must.Do(t, spoil(dir+"/3-bad"))
		f, unread, err := env.openStudy(nil, true)
		must.True(t, err == nil && f.ID == "2-left" && unread != nil && strings.Contains(unread.Error(), dir+"/3-bad/"+what),
			"%s: unfinished is %v, unread %v, %v", what, f, unread, err)
		_, _, err = env.openStudy([]string{"1-older"}, true)
		must.True(t, err == nil, "%s: the older one: %v", what, err)
		run := func(args ...string) error {
			c := newStudy(env)
			c.SetArgs(args)
			return c.ExecuteContext(t.Context())
		}
		if err := run("list"); err != nil || what == "study.json" && !strings.Contains(said.String(), "left out: study 3-bad: "+dir+"/3-bad/study.json: ") {
			t.Errorf("%s: kt study list says %q, %v", what, said.String(), err)
		}
		if err := run("restore"); err == nil || exitCode(err) != 1 || !strings.Contains(said.String(), "study 2-left: ") {
			t.Errorf("%s: kt study restore says %q, %v", what, said.String(), err)
		}
		must.Err(t, "", run("restore", "2-left"), "%s: kt study restore 2-left", what)
		must.Err(t, dir+"/3-bad/"+what, run("restore", "3-bad"), "%s: kt study restore 3-bad", what)
	}
}

func quietEnv() *Env {
	return &Env{
		Stdout: io.Discard, Stderr: io.Discard, Now: time.Now, Getenv: func(string) string { return "" },
		Signals: func() (<-chan os.Signal, func()) { return nil, func() {} },
	}
}

// object is a JSON object.
type object = map[string]any

// studySchema returns the JSON schema of a study's file: its keys, and the flags of its loads.
func studySchema(root *cobra.Command) object {
	keys := studyKeys()
	text := func(about string) object { return object{"type": "string", "description": about} }
	return object{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"$id":     "https://github.com/kt-bench/kt/blob/main/docs/study-file.schema.json",
		"title":   "kt study file", "description": "What kt study run makes: one load or several, and what varies.",
		"type": "object", "additionalProperties": false,
		"properties": with(keys, object{
			"given": object{"type": "object", "additionalProperties": object{"type": "string"}, "description": "names for $NAME in values, each with what to give by --set NAME=VALUE"},
			"parts": object{"type": "array", "items": object{"$ref": "#/$defs/part"}, "description": "studies that are made one after the other, instead of loads of its own"},
		}),
		"$defs": object{
			"part": object{
				"type": "object", "additionalProperties": false, "required": []string{"name"},
				"properties": with(keys, object{"name": text("its name")}),
			},
			"load": loadSchema(root, func(_, flag string) bool { return !slices.Contains(study.OwnFlags, flag) }), "values": valuesSchema,
			"workload": object{
				"type": "object", "required": []string{"command", "file"}, "additionalProperties": object{"$ref": "#/$defs/values"},
				"description": "a workload, with flags of kt run, and of its loads as LOAD.FLAG and FLAG",
				"properties":  object{"command": object{"const": "run"}, "file": text("its file, beside that of the study")},
			},
			"search": object{
				"type": "object", "additionalProperties": false, "required": []string{"search"}, "description": "where the best value is searched for; one factor of a study may have it",
				"properties": object{
					"search": object{"type": "string", "pattern": `^.+\.\..+$`, "description": "from the least value to the largest: 1..64, 4KiB..1MiB, 1ms..100ms"},
					"fine":   object{"type": []string{"string", "integer"}, "description": "the smallest step (default: one, until the best cannot be told from its neighbours)"},
				},
			},
		},
	}
}

// workloadSchema returns the JSON schema of a workload's file. Its loads have the flags that kt takes in one.
func workloadSchema(root *cobra.Command) object {
	figure := func(about string) object { return object{"type": "number", "minimum": 0, "description": about} }
	load := loadSchema(root, func(command, flag string) bool {
		topic := map[bool]string{true: "", false: "topic: t, "}[flag == "topic"]
		return parseWorkload(fmt.Sprintf("loads: [{name: a, command: %s, %s%s: x}]", command, topic, flag)) == nil
	})
	maps.Copy(load["properties"].(object), object{
		"name": object{
			"type": "string", "pattern": "^[a-zA-Z0-9][a-zA-Z0-9_-]*$", "maxLength": 64, "not": object{"pattern": "^(response|service|send-delay|end-to-end|p[0-9]+)$"},
			"description": "its name, as limits and --set have it",
		},
		"reads": object{"type": "string", "description": "the load of this file whose topics it reads (command: consume)"},
		"captured": object{
			"type": "object", "additionalProperties": false, "description": "what the load was on the cluster that kt capture took it from; the result compares the load with it",
			"properties": object{
				"rate": figure("records/s, the mean of all stages"), "bytes": figure("bytes/s as they lie in the log, of one replica"), "batch-bytes": figure("mean bytes of a batch in the log"),
				"batch-records": figure("mean records of a batch"), "ratio": figure("bytes before over those after compression"), "keys": figure("distinct keys"),
				"zipf": figure("exponent of the keys' Zipf law"), "unlike": object{"type": "array", "items": object{"type": "string"}, "description": "what kt cannot make alike, as sentences"},
			},
		},
	})
	load["required"] = []string{"name", "command"}
	return object{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"$id":     "https://github.com/kt-bench/kt/blob/main/docs/workload-file.schema.json",
		"title":   "kt run file", "description": "A workload: several unlike loads, which kt run makes at once.",
		"type": "object", "additionalProperties": false, "required": []string{"loads"},
		"properties": object{
			"about": object{"type": "string", "description": "what the workload is, in a sentence"},
			"loads": object{"type": "array", "items": object{"$ref": "#/$defs/load"}, "minItems": 1, "description": "the loads, which begin at one moment"},
			"on":    object{"$ref": "#/$defs/values", "description": "hosts that make the loads, as kt run --on"},
			"at":    object{"$ref": "#/$defs/values", "description": "when the commands of exec are run, once beside all loads"},
			"exec":  object{"$ref": "#/$defs/values", "description": "commands, one for each time of at"},
		},
		"$defs": object{"load": load, "values": valuesSchema},
	}
}

// with returns the keys of two objects.
func with(a, b object) object {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// studyKeys are the keys that a study and a part of one may have.
func studyKeys() object {
	values := object{"$ref": "#/$defs/values"}
	text := func(about string) object { return object{"type": "string", "description": about} }
	loads := func(about string) object {
		return object{"type": "array", "items": object{"$ref": "#/$defs/load", "required": []string{"name"}}, "description": about}
	}
	return object{
		"about":     text("the question, in a sentence"),
		"found":     text("what a published test of this question found"),
		"published": object{"type": "array", "items": object{"type": "string", "pattern": "^[a-z0-9-]+/[a-z0-9-]+$"}, "description": "published figures to show beside the own ones: AUTHOR-YEAR/CASE, as kreps-2014/linkedin-1"},
		"doubts":    object{"type": "object", "propertyNames": object{"enum": result.DoubtIDs()}, "additionalProperties": values, "description": "doubts that hold for the account of the published figures, each with the values that its text has for N, as {one-run: 20 s}"},
		"bytes":     text("the amount of data that each load writes (5GiB), instead of its number of records"),
		"prepare":   loads("loads that are made once, before the runs that read from them"),
		"load":      object{"oneOf": []object{{"$ref": "#/$defs/load"}, {"$ref": "#/$defs/workload"}}},
		"loads":     loads("loads that are made at once in every run; the first one is judged"),
		"factors":   object{"type": "object", "additionalProperties": object{"anyOf": []object{values, {"$ref": "#/$defs/search"}}}, "description": "what varies: a flag of the loads, topic.SETTING, or LOAD.FLAG, with its values"},
		"pair":      object{"type": "boolean", "description": "the n-th values of all factors go together"},
		"discard":   object{"type": "integer", "minimum": 0, "description": "runs before the others that do not count, to warm the brokers up (default 1)"},
		"repeats":   object{"type": "integer", "minimum": 1, "description": "runs of each cell (default 3)"},
		"order":     object{"enum": study.Orders, "description": "order of the runs (default shuffled)"},
		"seed":      object{"type": "integer", "minimum": 0, "description": "seed of a shuffled order (default 1)"},
		"rest":      object{"type": []string{"string", "number"}, "description": "time between two runs (default 5s)"},
		"ask": object{"type": "array", "description": "the questions", "items": object{
			"type": "object", "additionalProperties": false,
			"properties": object{
				"best": text("the factor whose best value is asked for"), "scaling": text("the factor with which the metric grows, whose values are numbers"),
				"by": object{"enum": metric.Names(), "description": "the metric (default rate)"},
			},
		}},
		"find": object{
			"type": "object", "additionalProperties": false, "description": "the highest rate that holds is searched for, as kt find does; with factors, for each of their values",
			"properties": object{
				"trial":     object{"type": []string{"string", "number"}, "description": "measure each rate for this time (default 30s)"},
				"precision": object{"type": "number", "description": "end the search when the peak is known to this share (default 0.01)"},
				"ladder":    object{"$ref": "#/$defs/values", "description": "walk up these rates, instead of searching"},
				"slo":       object{"$ref": "#/$defs/values", "description": "what each trial has to keep: p99<50ms, errors==0"},
				"curve":     object{"type": "array", "items": object{"type": "number"}, "description": "shares of the peak at which the latency is measured"},
			},
		},
	}
}

// scalar is one value of a flag.
var scalar = object{"type": []string{"string", "number", "boolean"}}

// valuesSchema is that of a flag of a load.
var valuesSchema = object{"anyOf": []object{scalar, {"type": "array", "items": scalar, "minItems": 1}}}

// loadSchema returns the schema of a load: its command and its flags, those that it takes.
func loadSchema(root *cobra.Command, takes func(command, flag string) bool) object {
	properties := object{
		"command": object{"enum": []plan.Command{plan.Produce, plan.Consume, plan.Roundtrip}, "description": "what the load does"},
		"name":    object{"type": "string", "description": "its name, if there are several"},
		"reads":   object{"type": "string", "description": "the prepared load whose topic it reads"},
	}
	for name, about := range loadFlags(root, takes) {
		properties[name] = object{"$ref": "#/$defs/values", "description": about}
	}
	return object{"type": "object", "properties": properties, "required": []string{"command"}, "additionalProperties": false}
}

// loadFlags returns the flags of all loads that a file may set, with their help.
func loadFlags(root *cobra.Command, takes func(command, flag string) bool) map[string]string {
	flags := make(map[string]string)
	for _, c := range root.Commands() {
		if !slices.Contains([]string{string(plan.Produce), string(plan.Consume), string(plan.Roundtrip)}, c.Name()) {
			continue
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Deprecated == "" && f.Name != "help" && known(c.Name(), f.Name) == nil && takes(c.Name(), f.Name) {
				flags[f.Name] = strings.ReplaceAll(f.Usage, "`", "")
			}
		})
	}
	return flags
}
