package tune

import (
	"fmt"
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
	return strings.FieldsFunc(m.Config.Get("process.roles", ""), func(r rune) bool { return r == ',' || r == ' ' })
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
	jars := slices.Clone(m.Process.Args)
	i := slices.IndexFunc(jars, func(a string) bool { return a == "-cp" || a == "-classpath" || a == "--class-path" })
	if i >= 0 && i+1 < len(jars) {
		for entry := range strings.SplitSeq(jars[i+1], ":") {
			if folder, all := strings.CutSuffix(entry, "/*"); all {
				names, _ := m.Names(m.within(m.Process.PID, folder)) // a folder that may not be read tells nothing
				jars = append(jars, names...)
			}
		}
	}
	for _, jar := range jars {
		if found := kafkaJar.FindStringSubmatch(jar); found != nil {
			return found[1]
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

// notSet is said of a value that nobody set.
const notSet = "not set (Kafka's default)"

// property reads a setting of the broker.
func (r Read) property(m *Machine, want Rule) Reading {
	unset := r.Unset
	if r.Before4 != "" && m.beforeKafka4() {
		unset = r.Before4
	}
	value := strings.TrimSpace(m.Config.Get(r.Property, unset))
	got := Reading{Current: strings.ToLower(value), shown: value}
	if _, err := strconv.Atoi(unset); err == nil {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return m.Config.noNumber(r.Property, value)
		}
		got.Current, got.shown = strconv.FormatInt(n, 10), ""
	}
	if _, set := m.Config.Values[r.Property]; !set {
		got.Note = notSet
	}
	if floor := floors[r.Floor]; floor != nil && !want.Leave() {
		got.rule = want.Floor(int64(floor(m)))
	}
	return got
}

func (c Config) noNumber(name, value string) Reading {
	return Reading{Verdict: Unknown, Current: value, Note: name + " is not a number in " + c.File}
}

// ofNumbers is a check of properties that are whole numbers: each is "NAME=VALUE", with Kafka's default.
func ofNumbers(f func(m *Machine, want Rule, n []int64) Reading, properties ...string) check {
	return func(m *Machine, want Rule) Reading {
		var all []int64
		for _, p := range properties {
			name, unset, _ := strings.Cut(p, "=")
			value := strings.TrimSpace(m.Config.Get(name, unset))
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return m.Config.noNumber(name, value)
			}
			all = append(all, n)
		}
		return f(m, want, all)
	}
}

func checkMinInSync(m *Machine, want Rule, n []int64) Reading {
	confirm, copies := n[0], n[1]
	r := Reading{Current: strconv.FormatInt(confirm, 10)}
	if confirm > 1 && confirm >= copies {
		r.Verdict, r.Wanted = Info, want.String()
		r.Note = fmt.Sprintf("new topics have %d copies: with any broker down, writes with acks=all fail", copies)
		r.Command = fmt.Sprintf("default.replication.factor=%d", confirm+1)
	} else if _, set := m.Config.Values["min.insync.replicas"]; !set {
		r.Note = notSet
	}
	return r
}

func checkInternalReplication(_ *Machine, _ Rule, n []int64) Reading {
	return Reading{Current: strconv.FormatInt(slices.Min(n), 10)}
}

func checkRequestSize(_ *Machine, _ Rule, n []int64) Reading {
	batch, request := n[0], n[1]
	return Reading{
		Current: strconv.FormatInt(batch, 10), rule: Rule{AtMost, strconv.FormatInt(request-1, 10)},
		Wanted: fmt.Sprintf("< %d", request), Command: fmt.Sprintf("socket.request.max.bytes=%d", batch+1<<20),
	}
}

func checkReplicaFetchSize(_ *Machine, _ Rule, n []int64) Reading {
	const head = 12 // offset and length of a batch, by which Kafka's own defaults differ
	batch, fetch := n[0], n[1]
	return Reading{
		Current: strconv.FormatInt(fetch, 10), rule: Rule{AtLeast, strconv.FormatInt(batch-head, 10)},
		Command: fmt.Sprintf("replica.fetch.max.bytes=%d", batch),
	}
}
