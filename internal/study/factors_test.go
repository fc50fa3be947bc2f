package study

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
)

func TestASettingToVaryHasItsPresentValueInItsPlace(t *testing.T) {
	for _, tc := range []struct{ over, present, values, now, kafkas, err string }{
		{over: "linger=0,20ms", values: "0 5ms 20ms", now: "5ms", kafkas: "5ms"},
		{over: "linger=20ms,0", present: "7", values: "0 5ms 7ms 20ms", now: "7ms", kafkas: "5ms"},
		{over: "linger=0,5,20", values: "0 5 20", now: "5", kafkas: "5"},
		{over: "--linger=search:0..100ms", values: "0 1ms 3ms 5ms 6ms 16ms 40ms 100ms", now: "5ms", kafkas: "5ms"},
		{over: "batch-size=search:16KiB..1MiB", present: "50000", values: "16KiB 32KiB 50000B 64KiB 128KiB 256KiB 512KiB 1MiB", now: "50000B", kafkas: "16KiB"},
		{over: "producers=search:1..20", present: "1", values: "1 2 3 4 7 12 20", now: "1", kafkas: "1"},
		{over: "compression=lz4,zstd:3", values: "none lz4 zstd:3", now: "none", kafkas: "none"},
		{over: "orders.linger=0,20ms", present: Default, values: "default 0 5ms 20ms", now: "default", kafkas: "5ms"},
		{over: "engine=client,wire", present: "client", values: "client wire", now: "client", kafkas: "client"},
		{over: "broker.num.io.threads=8,16", present: Default, values: "default 8 16", now: "default", kafkas: "default"},
		{over: "tune.vm.swappiness", present: Default, values: "default proposed", now: "default", kafkas: "default"},
		{over: "linger", err: "write NAME=VALUE,VALUE or NAME=search:FROM..TO"},
		{over: "linger=", err: "write NAME=VALUE,VALUE"},
		{over: "linger=1,,2", err: "write NAME=VALUE,VALUE"},
		{over: "tune.vm.swappiness=1", err: "write NAME=VALUE,VALUE"},
		{over: "linger=5ms", err: "5ms is what it is now: give another value"},
		{over: "linger=5", err: "5 is what it is now: give another value"},
		{over: "linger=1ms,2ms,1ms", err: "a value is there twice"},
		{over: "linger=5ms,0.005s", err: "a value is there twice"},
		{over: "batch-size=16KiB,16384", err: "a value is there twice"},
		{over: "linger=default", err: "5ms is what it is now: give another value"},
		{over: "linger=default,20ms", values: "5ms 20ms", now: "5ms", kafkas: "5ms"},
		{over: "linger=search:0..many", err: "write two numbers, sizes or times, the lower one first"},
		{over: "linger=search:5ms..5ms", err: "the lower one first"},
		{over: "linger=search:5ms..1MiB", err: "write two numbers, sizes or times"},
		{over: "linger=search:5", err: "write two numbers"},
	} {
		o := new(Optimum)
		factors, err := o.Over([]string{tc.over}, func(string) string { return tc.present })
		if must.Err(t, tc.err, err, "%s", tc.over); err == nil {
			f := factors[0]
			got := strings.Join(f.Values, " ") + "|" + o.Present[0].Value + "|" + o.Defaults[0].Value
			must.Match(t, tc.values+"|"+tc.now+"|"+tc.kafkas, got, "%s, now %q", tc.over, tc.present)
		}
	}
	_, err := new(Optimum).Over([]string{"linger=1", "linger=2"}, func(string) string { return "" })
	must.Err(t, "--over linger: it is there twice", err, "twice")
}

func TestSettingsOfTheTableFitTogether(t *testing.T) {
	for _, s := range Settings() {
		f := Factor{Values: slices.Clone(s.Values)}
		ordered := f.isOrdered()
		must.True(t, len(s.Values) >= 2 && len(s.Values) <= mostLevels && (ordered || f.kind() == nil || len(s.Values) == 2), "%s: values %v", s.Name, s.Values)
		must.True(t, s.Default == Default || f.take(s.Default) == s.Default && len(f.Values) == len(s.Values), "%s: its default %s is not among %v", s.Name, s.Default, s.Values)
		must.True(t, strings.HasSuffix(s.About, ".") && len(s.For) > 0 && slices.Contains([]string{"", "asked", "own topic"}, s.If), "%s: %+v", s.Name, s)
	}
}

func TestWhatMattersForALoadIsVaried(t *testing.T) {
	names := func(present, refused, mayChange string, commands ...string) string {
		var all []string
		takes := func(f Flag) bool {
			return !strings.Contains(refused, " "+f.Name+"="+f.Value+" ") && !strings.Contains(refused, " "+f.Name+" ")
		}
		factors, err := new(Optimum).Choose(commands, strings.Fields(mayChange), func(string) string { return present }, takes)
		must.Do(t, err)
		for _, f := range factors {
			all = append(all, f.Name)
		}
		return strings.Join(all, " ")
	}
	must.Match(t, "batch-size linger compression max-in-flight producers partitions", names("", "", "", "produce"), "of a producer")
	must.Match(t, "batch-size linger compression producers acks partitions", names("", " max-in-flight=1 max-in-flight=2 max-in-flight=10 ", "acks", "produce"), "without what is refused")
	must.Match(t, "batch-size linger compression max-in-flight producers", names("12", "", "", "produce"), "with a topic as the load says it")
	must.Match(t, "consumers fetch-min-bytes fetch-max-wait fetch-size", names("", "", "", "consume"), "of a consumer")
	must.Match(t, "batch-size linger max-in-flight producers consumers fetch-min-bytes fetch-max-wait fetch-size", names(Default, " compression ", "", "produce", "consume"), "of a workload")
	_, err := new(Optimum).Choose([]string{"produce"}, []string{"linger"}, nil, nil)
	must.Err(t, "--may-change linger: it is for acks", err, "what needs no word")
}

// someSearch is a search over two settings with runs of 10 s and no rest.
func someSearch(t *testing.T, flags ...Flag) (*Study, func(Load) ([]plan.Plan, error)) {
	t.Helper()
	o := Optimum{By: "p99", Delta: 0.03}
	factors, err := o.Over([]string{"linger=0,20ms", "compression=none,lz4,zstd"}, func(string) string { return "" })
	must.Do(t, err)
	s := must.Have(NewOptimum(Load{Command: "produce", Flags: flags}, factors, o))(t)
	return s, func(Load) ([]plan.Plan, error) {
		p := plan.Plan{Command: plan.Produce}
		p.Load.Duration = plan.Duration(10 * time.Second)
		return []plan.Plan{p}, nil
	}
}

func TestASearchFitsItsBudget(t *testing.T) {
	const run = 11 * time.Second // with its overhead
	for _, tc := range []struct {
		runs                 int // that there is time for
		most, repeats, looks int
		wants                string
	}{
		{1000, 60, 6, 2, ""},
		{115, 60, 6, 2, ""}, // 1 + 60 + 3×6 + 3×12
		{114, 59, 6, 2, ""},
		{95, 40, 6, 2, ""},
		{94, 57, 6, 1, ""},
		{50, 22, 4, 1, "up to 53 runs of 11.0s, so at least 9m43s"},
	} {
		s, plansOf := someSearch(t)
		err := s.Fit(time.Duration(tc.runs)*run, plansOf)
		must.Err(t, tc.wants, err, "%d runs", tc.runs)
		if err == nil {
			must.Match(t, []int{tc.most, tc.repeats, tc.looks}, []int{s.Optimum.Most, s.Optimum.Repeats, len(s.Optimum.Looks)}, "%d runs", tc.runs)
			_, most := s.Optimum.runs(s)
			f := must.Have(s.Forecast(plansOf, nil))(t)
			must.Match(t, float64(most)*run.Seconds(), f.Most, "the most that a dry run tells")
			must.True(t, most <= tc.runs && f.Seconds < f.Most, "%d runs of %d", most, tc.runs)
		}
	}
}

func TestTheBestSettingsCanBeCopied(t *testing.T) {
	factors := []Factor{
		{Name: "linger", Client: "producer", Property: "linger.ms"},
		{Name: "orders.batch-size", Client: "producer", Property: "batch.size"},
		{Name: "compression", Client: "producer", Property: "compression.type"},
		{Name: "fetch-min-bytes", Client: "consumer", Property: "fetch.min.bytes"},
		{Name: "producers"},
		{Name: "topic.flush.messages"},
		{Name: "broker.num.io.threads"},
		{Name: "acks", Client: "producer", Property: "acks"},
	}
	at := func(values ...string) (all []Flag) {
		for i, v := range values {
			all = append(all, Flag{factors[i].Name, v})
		}
		return all
	}
	for what, tc := range map[string]struct {
		load Load
		at   []Flag
		want Copied
	}{
		"a load": {
			Load{Command: "roundtrip"},
			at("20ms", Default, "zstd:5", "64KiB", "4", "1", "16", "all"),
			Copied{
				"# producer\nlinger.ms=20\ncompression.type=zstd\ncompression.zstd.level=5\nacks=all\n# consumer\nfetch.min.bytes=65536\n# producers=4\n# topic.flush.messages=1\n# broker.num.io.threads=16\n",
				"--linger 20ms --compression zstd:5 --fetch-min-bytes 64KiB --producers 4 --topic-config flush.messages=1 --acks all",
				"roundtrip:\n  linger: 20ms\n  compression: zstd:5\n  fetch-min-bytes: 64KiB\n  producers: 4\n  acks: all\n  topic-config: [flush.messages=1]\n# broker.num.io.threads=16\n",
			},
		},
		"a workload": {
			Load{Command: "run", File: "shop.yaml"},
			at("0", "1MiB", Default, Default, Default, Default, Default, Default),
			Copied{"# producer\nlinger.ms=0\n# orders producer\nbatch.size=1048576\n", "--set linger=0 --set orders.batch-size=1MiB", "load:\n  command: run\n  file: shop.yaml\n  linger: 0\n  orders.batch-size: 1MiB\n"},
		},
		"nothing": {Load{Command: "produce"}, at(Default), Copied{}},
	} {
		must.Match(t, tc.want, (&Study{Loads: []Load{tc.load}, Factors: factors}).copied(tc.at), what)
	}
}
