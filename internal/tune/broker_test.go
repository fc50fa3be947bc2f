package tune

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/kt-bench/kt/internal/host/jvm"
)

// set is a machine on which a broker runs that has these settings: names and values
// in turn.
func set(pairs ...string) *Machine {
	m := machineWith(jvm.Flags{})
	for i := 0; i < len(pairs); i += 2 {
		m.Config.Values[pairs[i]] = pairs[i+1]
	}
	return m
}

func withDirs(m *Machine, dirs ...Dir) *Machine {
	m.Dirs = dirs
	return m
}

func seven() []Dir { return make([]Dir, 7) }

func inCloud(m *Machine) *Machine {
	m.Cloud = "aws"
	return m
}

func kafkaJars(m *Machine, version string) *Machine {
	m.Process.Args = []string{"java", "-cp", "/libs/kafka_2.13-" + version + ".jar"}
	return m
}

func TestTheBrokersThreads(t *testing.T) {
	checkRows(t, []readingRow{
		{"as many as Kafka takes", "kafka.io_threads", "", set(), OK, "8"},
		{"fewer than Kafka takes", "kafka.io_threads", "", set("num.io.threads", "4"), Warn, "4"},
		{"fewer than disks", "kafka.io_threads", "", withDirs(set("num.io.threads", "8"), make([]Dir, 12)...), Warn, "8"},
		{"threads that are no number", "kafka.io_threads", "", set("num.io.threads", "many"), Unknown, "many"},
		{"a controller serves nothing", "kafka.io_threads", "", set("process.roles", "controller"), NotApplicable, ""},
		{"half as many as CPUs", "kafka.network_threads", "", set("num.network.threads", "8"), OK, "8"},
		{"as many as Kafka takes, on 16 CPUs", "kafka.network_threads", "", set(), Info, "3"},
		{"as many as Kafka takes, on 4 CPUs", "kafka.network_threads", "", sized(set(), 4, 8*gib), OK, "3"},
		{"TLS wants twice as many", "kafka.network_threads", "", set("num.network.threads", "8", "listeners", "SASL_SSL://:9093"), Info, "8"},
		{"one fetcher for few partitions", "kafka.replica_fetchers", "", withDirs(set(), Dir{Partitions: 900}), OK, "1"},
		{"one fetcher for many partitions", "kafka.replica_fetchers", "", withDirs(set(), Dir{Partitions: 2500}), Info, "1"},
		{"enough fetchers", "kafka.replica_fetchers", "", withDirs(set("num.replica.fetchers", "4"), Dir{Partitions: 2500}), OK, "4"},
		{"recovery on one disk", "kafka.recovery_threads", "", withDirs(set(), Dir{}), Info, "2"},
		{"recovery on seven disks", "kafka.recovery_threads", "", withDirs(set("num.recovery.threads.per.data.dir", "3"), seven()...), OK, "3"},
		{"recovery before Kafka 4", "kafka.recovery_threads", "", withDirs(kafkaJars(set(), "3.7.1"), seven()...), Info, "1"},
		{"recovery with directories unknown", "kafka.recovery_threads", "", set(), OK, "2"},
	})
}

func TestHowTheBrokerStores(t *testing.T) {
	listed := func(n int, err error) *Machine { return withDirs(set(), Dir{Partitions: n, ListErr: err}) }
	checkRows(t, []readingRow{
		{"the class path tells the version", "kafka.version", "", kafkaJars(set(), "4.1.0"), Info, "4.1.0"},
		{"no class path", "kafka.version", "", set(), Unknown, ""},

		{"directories that last", "kafka.data_in_tmp", "no", set("log.dirs", "/data/a,/data/tmp"), OK, "no"},
		{"one directory in /tmp", "kafka.data_in_tmp", "no", set("log.dirs", "/data/a, /tmp/b"), Fail, "/tmp/b"},
		{"no directory is set", "kafka.data_in_tmp", "no", set(), Fail, "/tmp/kafka-logs"},
		{"a folder whose name begins like /tmp", "kafka.data_in_tmp", "no", set("log.dir", "/tmpfs/kafka"), OK, "no"},

		{"flushes are left to the system", "kafka.flush", "", set(), OK, "not set"},
		{"flushes as Kafka takes them, written down", "kafka.flush", "", set("log.flush.interval.messages", "9223372036854775807"), OK, "not set"},
		{"a flush for each record", "kafka.flush", "", set("log.flush.interval.messages", "1"), Warn, "every 1 messages"},
		{"a flush each second", "kafka.flush", "", set("log.flush.interval.ms", "1000"), Warn, "every 1000 ms"},

		{"a partition for each disk", "kafka.partitions_per_disk", "", withDirs(set("num.partitions", "14"), seven()...), OK, "14"},
		{"one partition for seven disks", "kafka.partitions_per_disk", "", withDirs(set(), seven()...), Info, "1"},
		{"few partitions", "kafka.partition_count", "", listed(400, nil), OK, "400"},
		{"too many partitions", "kafka.partition_count", "", listed(4001, nil), Info, "4001"},
		{"too many for a small broker", "kafka.partition_count", "", sized(listed(1001, nil), 4, 8*gib), Info, "1001"},
		{"partitions that only root may count", "kafka.partition_count", "", listed(0, fs.ErrPermission), Unknown, ""},
		{"no directory is known", "kafka.partition_count", "", set(), Unknown, ""},
		{"a directory that is not there", "kafka.partition_count", "", withDirs(set(), Dir{Err: errors.New("gone")}), Unknown, ""},
		{"CPUs are not known", "kafka.partition_count", "", sized(listed(400, nil), 0, 0), Unknown, "400"},

		{"segments of 1 GiB", "kafka.segment_size", "", set(), OK, "1073741824"},
		{"segments of 1 MiB", "kafka.segment_size", "", set("log.segment.bytes", "1048576"), Info, "1048576"},
		{"batches stay as they are", "kafka.compression", "", set(), OK, "producer"},
		{"batches are compressed again", "kafka.compression", "", set("compression.type", "ZSTD"), Warn, "ZSTD"},
		{"a batch fits into a request", "kafka.request_size", "", set(), OK, "1048588"},
		{"a batch is larger than a request", "kafka.request_size", "", set("message.max.bytes", "200000000"), Fail, "200000000"},
		{"a batch of no size", "kafka.request_size", "", set("message.max.bytes", "1m"), Unknown, "1m"},
		{"a request of no size", "kafka.request_size", "", set("socket.request.max.bytes", ""), Unknown, ""},
		{"Kafka's own sizes go together", "kafka.replica_fetch_size", "", set(), OK, "1048576"},
		{"replicas fetch less than a batch", "kafka.replica_fetch_size", "", set("message.max.bytes", "10485760"), Info, "1048576"},
		{"replicas fetch as much as a batch", "kafka.replica_fetch_size", "", set("message.max.bytes", "10485760", "replica.fetch.max.bytes", "10485760"), OK, "10485760"},
	})
}

func TestHowSafelyTheBrokerStores(t *testing.T) {
	checkRows(t, []readingRow{
		{"three copies", "kafka.replication", "", set("default.replication.factor", "3"), OK, "3"},
		{"one copy", "kafka.replication", "", set(), Info, "1"},
		{"two of three confirm", "kafka.min_insync", "", set("default.replication.factor", "3", "min.insync.replicas", "2"), OK, "2"},
		{"one confirms", "kafka.min_insync", "", set("default.replication.factor", "3"), Info, "1"},
		{"all must confirm", "kafka.min_insync", "", set("default.replication.factor", "3", "min.insync.replicas", "3"), Info, "3"},
		{"copies that are no number", "kafka.min_insync", "", set("default.replication.factor", "three"), Unknown, "three"},
		{"leaders have everything", "kafka.unclean_election", "", set(), OK, "false"},
		{"leaders may lack records", "kafka.unclean_election", "", set("unclean.leader.election.enable", "true"), Info, "true"},
		{"three copies of Kafka's own", "kafka.internal_replication", "", set(), OK, "3"},
		{"one copy of the offsets", "kafka.internal_replication", "", set("offsets.topic.replication.factor", "1"), Info, "1"},
		{"topics make themselves", "kafka.auto_create", "", set(), Info, "true"},
		{"topics are made", "kafka.auto_create", "", set("auto.create.topics.enable", "FALSE"), OK, "FALSE"},
		{"a zone in a cloud", "kafka.rack", "", inCloud(set("broker.rack", "eu-central-1a")), OK, "eu-central-1a"},
		{"no zone in a cloud", "kafka.rack", "", inCloud(set()), Info, "not set"},
		{"no zone and no cloud", "kafka.rack", "", set(), NotApplicable, ""},
	})
}

func TestCommandsMakeASettingAsWanted(t *testing.T) {
	for _, row := range []struct {
		says, id string
		machine  *Machine
		want     string
	}{
		{"threads are raised to the disks", "kafka.io_threads", withDirs(set(), make([]Dir, 12)...), "num.io.threads=12"},
		{"a request grows beyond the batch", "kafka.request_size", set("message.max.bytes", "104857600"), "socket.request.max.bytes=105906176"},
		{"copies are raised above those that confirm", "kafka.min_insync", set("min.insync.replicas", "2"), "default.replication.factor=3"},
		{"a word", "kafka.auto_create", set(), "auto.create.topics.enable=false"},
		{"what is well needs nothing", "kafka.compression", set(), ""},
		{"a heap for the machine", "jvm.heap_size", machineWith(heapFlags(2*gib, 2*gib)), `KAFKA_HEAP_OPTS="-Xms6g -Xmx6g"`},
		{"a heap that fits the container", "jvm.container", limited(machineWith(heapFlags(4*gib, 4*gib))), `KAFKA_HEAP_OPTS="-Xms2g -Xmx2g"`},
		{"a flag is added", "jvm.gc_start", machineWith(jvm.Flags{}), `KAFKA_OPTS="-XX:InitiatingHeapOccupancyPercent=35"`},
	} {
		rule := ""
		if row.id == "jvm.heap_size" {
			rule = "yes"
		}
		if got := finding(t, row.machine, row.id, rule); got.Command != row.want {
			t.Errorf("%s: the command of %s is %q, want %q", row.says, row.id, got.Command, row.want)
		}
	}
}

func TestSettingsThatCannotBeReadAreNotJudged(t *testing.T) {
	for _, row := range []struct {
		says   string
		config Config
		note   string
	}{
		{"only root may read the file", Config{File: "/etc/kafka/x", Err: fs.ErrPermission}, "needs root"},
		{"the file is gone", Config{File: "/etc/kafka/x", Err: fmt.Errorf("open: %w", fs.ErrNotExist)}, "settings file not found: /etc/kafka/x"},
		{"the file is broken", Config{File: "/etc/kafka/x", Err: errors.New("x: line 3")}, "x: line 3"},
		{"no file is named", Config{}, "its command line names no settings file"},
	} {
		m := machineWith(jvm.Flags{})
		m.Config = row.config
		for _, s := range groups(Kafka) {
			if s.ID == "kafka.version" { // reads the command line
				continue
			}
			want, err := ParseRule(s.Want)
			if err != nil {
				t.Fatalf("%s: %v", s.ID, err)
			}
			if got := s.Check(m, want); got.Verdict != Unknown || got.Note != row.note {
				t.Errorf("%s: %s is %s (%s), want unknown (%s)", row.says, s.ID, got.Verdict, got.Note, row.note)
			}
		}
	}
}
