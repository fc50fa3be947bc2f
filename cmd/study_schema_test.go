package cmd

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/study"
)

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
			"load": loadSchema(root), "values": object{"anyOf": []object{scalar, {"type": "array", "items": scalar, "minItems": 1}}},
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
		"bytes":     text("the amount of data that each load writes (5GiB), instead of its number of records"),
		"prepare":   loads("loads that are made once, before the runs that read from them"),
		"load":      object{"$ref": "#/$defs/load"},
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

// loadSchema returns the schema of a load: its command and its flags.
func loadSchema(root *cobra.Command) object {
	properties := object{
		"command": object{"enum": []plan.Command{plan.Produce, plan.Consume, plan.Roundtrip}, "description": "what the load does"},
		"name":    object{"type": "string", "description": "its name, if there are several"},
		"reads":   object{"type": "string", "description": "the prepared load whose topic it reads"},
	}
	for name, about := range loadFlags(root) {
		properties[name] = object{"$ref": "#/$defs/values", "description": about}
	}
	return object{"type": "object", "properties": properties, "required": []string{"command"}, "additionalProperties": false}
}

// loadFlags returns the flags of all loads that a study may set, with their help.
func loadFlags(root *cobra.Command) map[string]string {
	flags := make(map[string]string)
	for _, c := range root.Commands() {
		if !slices.Contains([]string{string(plan.Produce), string(plan.Consume), string(plan.Roundtrip)}, c.Name()) {
			continue
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Deprecated == "" && !slices.Contains(study.OwnFlags, f.Name) && f.Name != "help" && config.CheckFlag(plan.Command(c.Name()), f.Name) == nil {
				flags[f.Name] = strings.ReplaceAll(f.Usage, "`", "")
			}
		})
	}
	return flags
}
