package tune

import (
	"fmt"
	"slices"
	"strconv"
)

func jvmSettings() []*Setting {
	return slices.Concat(heapSettings(), flagSettings(), collectorSettings(), liveSettings())
}

// ofJVM is a check that needs the broker's JVM.
func ofJVM(check func(*Machine, Rule) Reading) func(*Machine, Rule) Reading {
	return func(m *Machine, want Rule) Reading {
		if m.Process == nil {
			return Absent("no broker runs here")
		}
		return check(m, want)
	}
}

// ofFlags is a check of the options of the broker's JVM. Without those of its environment nothing is known of an option.
func ofFlags(check func(*Machine, Rule) Reading) func(*Machine, Rule) Reading {
	return ofJVM(func(m *Machine, want Rule) Reading {
		r, p := check(m, want), m.Process
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

// commandLine completes a setting that is read from the command line.
func commandLine(s *Setting) *Setting {
	s.Group, s.Roles, s.Reads = JVM, []Role{Broker, Controller}, []string{startReads}
	s.Check = ofFlags(s.Check)
	return s
}

func flagSettings() []*Setting {
	return []*Setting{
		{
			ID: "jvm.version", Group: JVM, Roles: []Role{Broker, Controller}, Title: "Java version", Severity: Warning, Confidence: Documented, Want: ">=17",
			Why: "Kafka 4 brokers need Java 17. Newer versions have shorter pauses",
			Detail: "Confluent recommends 21 for its version 8. Kafka 3 also runs on 11, and on 8 with warnings. kt reads the version from " +
				"the running JVM, or else from the release file of its Java.",
			Sources: []string{"Kafka documentation: Compatibility, Java versions", "Confluent Platform: supported Java versions"},
			Reads:   []string{"/tmp/hsperfdata_USER/PID", "$JAVA_HOME/release"},
			Check:   ofJVM(checkJavaVersion),
		},
		commandLine(&Setting{
			ID: "jvm.pretouch", Title: "heap memory is taken at startup", Severity: Informational, Confidence: Folklore,
			Why:     "the first use of each heap page waits for the kernel",
			Detail:  `The value is "yes" or "no": -XX:+AlwaysPreTouch. It makes startup some seconds longer. Intel sets it for Kafka; Kafka's script does not.`,
			Sources: []string{"Intel: Kafka tuning guide"},
			Check: func(m *Machine, want Rule) Reading {
				on := m.Process.JVM.XX["AlwaysPreTouch"] == "true"
				return flagReading(on, "-XX:+AlwaysPreTouch", want)
			},
		}),
		commandLine(&Setting{
			ID: "jvm.out_of_memory", Title: "exit when memory runs out", Severity: Informational, Confidence: Folklore, Want: "yes",
			Why:     "a broker can look alive and serve nothing. Its threads died for lack of memory",
			Detail:  `The value is "yes" or "no": -XX:+ExitOnOutOfMemoryError or -XX:+CrashOnOutOfMemoryError. Kafka's script sets neither. One of them is kt's proposal, where a service manager restarts the broker.`,
			Sources: []string{"kt's proposal"},
			Check: func(m *Machine, want Rule) Reading {
				xx := m.Process.JVM.XX
				on := xx["ExitOnOutOfMemoryError"] == "true" || xx["CrashOnOutOfMemoryError"] == "true"
				return flagReading(on, "-XX:+ExitOnOutOfMemoryError", want)
			},
		}),
		commandLine(&Setting{
			ID: "jvm.huge_pages", Title: "huge pages of the JVM", Severity: Informational, Confidence: Folklore,
			Why:     "the flag has no effect. The kernel gives no huge pages",
			Detail:  "-XX:+UseTransparentHugePages needs madvise or always in /sys/kernel/mm/transparent_hugepage/enabled.",
			Sources: []string{"OpenJDK: -XX:+UseTransparentHugePages", "kernel documentation: transparent hugepage support"},
			Check:   checkHugePages,
		}),
		commandLine(&Setting{
			ID: "jvm.gclog", Title: "log of garbage collections", Severity: Informational, Confidence: Documented, Want: "yes",
			Why:     "the cause of a past stall stays unknown. The log shows every collection",
			Detail:  `The value is "yes" or "no". Kafka's start script sets it; other ways of starting Java do not.`,
			Sources: []string{"Kafka: bin/kafka-server-start.sh (-loggc)"},
			Check: func(m *Machine, want Rule) Reading {
				return flagReading(m.Process.JVM.GCLog != "", "-Xlog:gc*:file=kafkaServer-gc.log:time,tags:filecount=10,filesize=100M", want)
			},
		}),
	}
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
