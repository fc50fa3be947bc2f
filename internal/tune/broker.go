package tune

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// runsBroker reports whether what runs here serves records; a controller alone does not.
func runsBroker(m *Machine) bool {
	roles := processRoles(m)
	if len(roles) == 0 {
		return m.Role != Controller
	}
	return slices.Contains(roles, "broker")
}

// processRoles are the roles of KRaft that the settings name; none when they are not
// known, or under ZooKeeper.
func processRoles(m *Machine) []string {
	var roles []string
	for r := range strings.SplitSeq(m.Config.Get("process.roles", ""), ",") {
		if r = strings.TrimSpace(r); r != "" {
			roles = append(roles, r)
		}
	}
	return roles
}

// partitionsHere are the partitions in the log directories, as far as they could be
// listed.
func partitionsHere(m *Machine) (n int) {
	for _, d := range m.Dirs {
		n += d.Partitions
	}
	return n
}

// kafkaJar is Kafka's own jar in a class path.
var kafkaJar = regexp.MustCompile(`kafka_2\.\d+-(\d+\.\d+\.\d+[^/:]*?)\.jar`)

// kafkaVersion is the version of Kafka that was started: "4.3.1"; "" when the class
// path does not tell. Entries that end in an asterisk stand for the jars in a folder.
func (m *Machine) kafkaVersion() string {
	if m.Process == nil {
		return ""
	}
	for _, a := range m.Process.Args {
		if found := kafkaJar.FindStringSubmatch(a); found != nil {
			return found[1]
		}
	}
	i := slices.IndexFunc(m.Process.Args, func(a string) bool { return a == "-cp" || a == "-classpath" || a == "--class-path" })
	if i < 0 || i+1 == len(m.Process.Args) {
		return ""
	}
	for entry := range strings.SplitSeq(m.Process.Args[i+1], ":") {
		folder, all := strings.CutSuffix(entry, "/*")
		if !all {
			continue
		}
		names, _ := m.Names(m.within(m.Process.PID, folder)) // a folder that may not be read tells nothing
		for _, name := range names {
			if found := kafkaJar.FindStringSubmatch(name); found != nil {
				return found[1]
			}
		}
	}
	return ""
}

// beforeKafka4 tells that an older version than 4 was started. Where the class path
// names none, it does not know and takes the newer one.
func (m *Machine) beforeKafka4() bool {
	major, _, _ := strings.Cut(m.kafkaVersion(), ".")
	n, err := strconv.Atoi(major)
	return err == nil && n < 4
}

// needsConfig is a check of the settings in the file that the broker or controller
// was started with.
func needsConfig(check func(*Machine, Rule) Reading) func(*Machine, Rule) Reading {
	return func(m *Machine, want Rule) Reading {
		switch {
		case m.Process == nil:
			return Absent("no broker runs here")
		case m.Config.Err != nil:
			r := Denied(m.Config.Err)
			if r.Verdict == NotApplicable { // a broker has its settings somewhere
				r = Reading{Verdict: Unknown, Note: "settings file not found: " + m.Config.File}
			}
			return r
		case m.Config.File == "":
			return Reading{Verdict: Unknown, Note: "its command line names no settings file"}
		}
		return check(m, want)
	}
}

// ofBroker is a check of the settings of what serves records.
func ofBroker(check func(*Machine, Rule) Reading) func(*Machine, Rule) Reading {
	return needsConfig(func(m *Machine, want Rule) Reading {
		if !runsBroker(m) {
			return Absent("only a controller runs here")
		}
		return check(m, want)
	})
}

// number is a setting that is a whole number; bad is the reading of one that is not.
func (c Config) number(name string, unset int64) (n int64, bad Reading, ok bool) {
	text, set := c.Values[name]
	if !set {
		return unset, Reading{}, true
	}
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return 0, Reading{Verdict: Unknown, Current: text, Note: name + " is not a number in " + c.File}, false
	}
	return n, Reading{}, true
}

// countCheck is the check of a setting that is a number, by a rule that may depend
// on the machine. unset is Kafka's default.
func countCheck(name string, unset int64, bad Verdict, fit func(*Machine, Rule) Rule) func(*Machine, Rule) Reading {
	return ofBroker(func(m *Machine, want Rule) Reading {
		n, wrong, ok := m.Config.number(name, unset)
		if !ok {
			return wrong
		}
		if fit != nil && !want.Leave() {
			want = fit(m, want)
		}
		current := strconv.FormatInt(n, 10)
		r := Compare(current, want, bad)
		if _, set := m.Config.Values[name]; !set {
			r.Note = notSet
		}
		if !want.Leave() && r.Verdict == bad && !want.Holds(current) {
			r.Command = name + "=" + want.Target(current)
		}
		return r
	})
}

// notSet is said of a value that nobody set.
const notSet = "not set (Kafka's default)"

// wordCheck is the check of a setting that is a word.
func wordCheck(name, unset string, bad Verdict) func(*Machine, Rule) Reading {
	return ofBroker(func(m *Machine, want Rule) Reading {
		value := strings.TrimSpace(m.Config.Get(name, unset))
		r := Compare(strings.ToLower(value), want, bad)
		r.Current = value
		if _, set := m.Config.Values[name]; !set {
			r.Note = notSet
		}
		if !want.Leave() && !want.Holds(strings.ToLower(value)) {
			r.Command = name + "=" + want.Target(value)
		}
		return r
	})
}

// fileOnly is said of each setting that the cluster may override.
const fileOnly = " kt reads the file that the broker was started with: what the cluster has set since (kafka-configs.sh --describe --all) counts for more and is not seen here."

func brokerSettings() []*Setting {
	all := slices.Concat(threadSettings(), storageSettings(), batchSettings(), safetySettings(), kraftSettings())
	for _, s := range all {
		s.Group = Kafka
		s.Detail += fileOnly
		if s.Reads == nil {
			s.Reads = []string{"server.properties"}
		}
		if s.Roles == nil {
			s.Roles = []Role{Broker}
		}
	}
	return all
}

func threadSettings() []*Setting {
	return []*Setting{
		{
			ID: "kafka.io_threads", Title: "threads that serve requests", Severity: Warning, Confidence: Documented, Want: ">=8",
			Why: "a disk waits while a thread writes to another. That happens with fewer threads than disks",
			Detail: "num.io.threads: at least 8, Kafka's default, and at least one for each log directory. Sources disagree on more: as many " +
				"as CPUs, twice as many, 6 for hard disks and 32 for NVMe. The metric RequestHandlerAvgIdlePercent decides: below 0.3 " +
				"there are too few threads.",
			Sources: []string{"Kafka documentation, Broker configs", "Strimzi: broker tuning", "kt's proposal"},
			Risk:    "can be changed while the broker runs, to between half and twice the present number",
			Check: countCheck("num.io.threads", 8, Warn, func(m *Machine, want Rule) Rule {
				return want.Floor(int64(len(m.Dirs)))
			}),
		},
		{
			ID: "kafka.network_threads", Title: "threads that talk to clients", Severity: Informational, Confidence: Folklore, Want: ">=3",
			Why: "clients wait for busy network threads. Encryption and many connections load these threads first",
			Detail: "num.network.threads, for each listener. kt proposes half the number of CPUs, from 3 (Kafka's default) up to 16. A " +
				"listener with encryption gets twice that, up to the number of CPUs. Benchmarks commonly run with 8. The metric " +
				"NetworkProcessorAvgIdlePercent decides: below 0.3 there are too few threads.",
			Sources: []string{"Kafka documentation, Broker configs", "Strimzi: broker tuning", "Intel: Kafka tuning guide", "kt's proposal"},
			Risk:    "can be changed while the broker runs, to between half and twice the present number",
			Check: countCheck("num.network.threads", 3, Info, func(m *Machine, want Rule) Rule {
				return want.Floor(int64(networkThreads(m.CPUs, encrypts(m.Config))))
			}),
		},
		{
			ID: "kafka.replica_fetchers", Title: "threads that fetch from each other broker", Severity: Informational, Confidence: Folklore, Want: ">=1",
			Why: "followers fall behind. One thread fetches all partitions of a leader in turn",
			Detail: "num.replica.fetchers; Kafka's default is 1. kt proposes one for each 1000 partitions, from 2 up to 4, on brokers with " +
				"more than 1000 partitions. Amazon MSK sets 2, the OpenMessaging benchmark 8. Each fetcher costs a connection and memory " +
				"on every other broker.",
			Sources: []string{"Kafka documentation, Broker configs", "Amazon MSK: default configuration", "kt's proposal"},
			Check: countCheck("num.replica.fetchers", 1, Info, func(m *Machine, want Rule) Rule {
				if n := partitionsHere(m); n > 1000 {
					return want.Floor(int64(replicaFetchers(n)))
				}
				return want
			}),
		},
		{
			ID: "kafka.recovery_threads", Title: "threads that open log files at startup", Severity: Informational, Confidence: Documented, Want: ">=1",
			Why: "recovery after a crash takes longer. These threads read the logs of the broker again",
			Detail: "num.recovery.threads.per.data.dir; the default of Kafka 4 is 2, of earlier versions 1. kt proposes the number of CPUs, " +
				"divided among the log directories.",
			Sources: []string{"Kafka documentation, Broker configs", "Strimzi: broker tuning"},
			Check: func(m *Machine, want Rule) Reading {
				unset := int64(2)
				if m.beforeKafka4() {
					unset = 1
				}
				return countCheck("num.recovery.threads.per.data.dir", unset, Info, func(m *Machine, want Rule) Rule {
					return want.Floor(int64(recoveryThreads(m.CPUs, len(m.Dirs))))
				})(m, want)
			},
		},
	}
}
