package tune

import (
	"fmt"
	"strconv"
)

// ofJVM is a check that needs the broker's JVM.
func ofJVM(f check) check {
	return func(m *Machine, want Rule) Reading {
		if m.Process == nil {
			return Absent("no broker runs here")
		}
		return f(m, want)
	}
}

// ofFlags is a check of the options of the broker's JVM. Without those of its environment nothing is known of an option.
func ofFlags(f check) check {
	return ofJVM(func(m *Machine, want Rule) Reading {
		r, p := f(m, want), m.Process
		if p.OptionsErr != nil && p.PerfErr != nil && r.Verdict != NotApplicable {
			r = Reading{Verdict: Unknown, Current: r.Current, Note: "the command line alone; what else sets options: " + Denied(p.OptionsErr).Note}
		}
		return r
	})
}

// question is the reading of something that is so or not, by the rule "yes" or "no",
// and whether it is not as wanted. It shows words that tell more.
func question(is bool, want Rule, bad Verdict, current, wanted string) (r Reading, wrong bool) {
	r = Compare(map[bool]string{true: "yes", false: "no"}[is], want, bad)
	r.Current = current
	if !want.Leave() {
		r.Wanted = wanted
	}
	return r, !want.Leave() && r.Verdict != OK
}

// measured is the reading of a figure with a unit, by a rule that is a number.
func measured(value float64, decimals int, unit string, want Rule, bad Verdict) Reading {
	r := Compare(strconv.FormatFloat(value, 'f', decimals, 64), want, bad)
	r.Current += " " + unit
	if !want.Leave() {
		r.Wanted += " " + unit
	}
	return r
}

// startReads are the files that tell how a JVM was started.
const startReads = "/proc/PID/{cmdline,environ}, /tmp/hsperfdata_USER/PID"

func checkPretouch(m *Machine, want Rule) Reading {
	on := m.Process.JVM.XX["AlwaysPreTouch"] == "true"
	return flagReading(on, "-XX:+AlwaysPreTouch", want)
}

func checkOutOfMemory(m *Machine, want Rule) Reading {
	xx := m.Process.JVM.XX
	on := xx["ExitOnOutOfMemoryError"] == "true" || xx["CrashOnOutOfMemoryError"] == "true"
	return flagReading(on, "-XX:+ExitOnOutOfMemoryError", want)
}

func checkGclog(m *Machine, want Rule) Reading {
	return flagReading(m.Process.JVM.GCLog != "", "-Xlog:gc*:file=kafkaServer-gc.log:time,tags:filecount=10,filesize=100M", want)
}

// flagReading is the reading of a flag that is on or off.
func flagReading(on bool, flag string, want Rule) Reading {
	words := map[bool]string{true: "on", false: "off"}
	r, wrong := question(on, want, Info, words[on], words[want.Holds("yes")])
	if wrong && !on {
		r.Command = addFlag(flag)
	}
	return r
}

// addFlag is the line that adds a flag to those that Kafka's scripts give java. Its
// place is behind them, so it wins.
func addFlag(flag string) string { return fmt.Sprintf("KAFKA_OPTS=%q", flag) }

// scriptFlags are what kafka-run-class.sh takes when KAFKA_JVM_PERFORMANCE_OPTS is
// not set, without the MaxInlineLevel=15 that Java has had by itself since 14.
const scriptFlags = "-server -XX:+UseG1GC -XX:MaxGCPauseMillis=20 -XX:InitiatingHeapOccupancyPercent=35 -XX:+ExplicitGCInvokesConcurrent"

func checkHugePages(m *Machine, _ Rule) Reading {
	if m.Process.JVM.XX["UseTransparentHugePages"] != "true" {
		return Absent("-XX:+UseTransparentHugePages is not set")
	}
	word, err := m.Chosen("sys/kernel/mm/transparent_hugepage/enabled")
	if err != nil {
		return Denied(err)
	}
	r := Compare(word, Rule{Equal, "madvise|always"}, Info)
	if r.Verdict == Info {
		r.Note = "the JVM asks for huge pages, the kernel gives none"
	}
	return r
}
