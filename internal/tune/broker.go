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
func needsConfig(f check) check {
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
		return f(m, want)
	}
}

// ofBroker is a check of the settings of what serves records.
func ofBroker(f check) check {
	return needsConfig(func(m *Machine, want Rule) Reading {
		if !runsBroker(m) {
			return Absent("only a controller runs here")
		}
		return f(m, want)
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

// floors are least values that depend on the machine.
var floors = map[string]func(*Machine) int{
	"log_dirs":        func(m *Machine) int { return len(m.Dirs) },
	"network_threads": func(m *Machine) int { return networkThreads(m.CPUs, encrypts(m.Config)) },
	"replica_fetchers": func(m *Machine) int {
		if n := partitionsHere(m); n > 1000 {
			return replicaFetchers(n)
		}
		return 0
	},
	"recovery_threads": func(m *Machine) int { return recoveryThreads(m.CPUs, len(m.Dirs)) },
}

// countCheck is the check of a setting that is a number.
func countCheck(read Read, bad Verdict) check {
	name := read.Property
	return func(m *Machine, want Rule) Reading {
		unset := read.Unset
		if read.Before4 != "" && m.beforeKafka4() {
			unset = read.Before4
		}
		initial, _ := strconv.ParseInt(unset, 10, 64) // it is a number, or this is no such check
		n, wrong, ok := m.Config.number(name, initial)
		if !ok {
			return wrong
		}
		if floor := floors[read.Floor]; floor != nil && !want.Leave() {
			want = want.Floor(int64(floor(m)))
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
	}
}

// notSet is said of a value that nobody set.
const notSet = "not set (Kafka's default)"

// wordCheck is the check of a setting that is a word.
func wordCheck(name, unset string, bad Verdict) check {
	return func(m *Machine, want Rule) Reading {
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
	}
}
