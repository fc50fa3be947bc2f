//go:build integration

package cmd

import (
	"bytes"
	be "encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
)

// way is a way in which a log loses, doubles, reorders or changes records, or seems to, between a load and its check. The table of
// docs/roundtrip.md has a row for each.
type way struct {
	topic       string // with the engine of the load behind it
	when        moment
	also        string // another topic of the load
	load, check []string
	only        string                       // engine of the load; "": both
	before      func(h *harms, topic string) // the load
	harm        func(h *harms, topic string) // after the load, or while it goes on
	live        bool                         // the load goes on until the harm is done
	does        func(h *harms)               // in place of load, harm and check
	disk        func(log []batch) []batch    // the harm, to the file of partition 0

	// What kt consume --verify says: its exit code, and the counts of the verdict that are not 0. Where readers differ, by their names.
	want string
	but  map[string]string
}

// moment is when the harm is done.
type moment int

const (
	whenOnline   moment = iota
	whenKilled          // the broker hangs, goes on, and is killed
	whenStopped         // it was stopped in good order
	whenRestored        // it gets its files of an earlier time
)

const perLoad = 400 // records, in two partitions

var (
	large  = []string{"--record-size", "10000", "--batch-size", "100000", "--topic-config", "segment.bytes=1048576"}
	keyed  = append(large, "--key-distribution", "range", "--record-key-range", "5", "--command-property", "partitioner.ignore.keys=true")
	remote = append(large, "--topic-config", "remote.storage.enable=true", "--topic-config", "local.retention.bytes=1")
	steady = []string{"--rate", "200", "--duration", "10m"}
)

var ways = []way{
	{topic: "kept", want: "0 read:400"},
	{topic: "partitions-added", harm: (*harms).addsPartitions, want: "0 read:400"},
	{topic: "partitions-added-to-the-first", also: "second-topic", harm: (*harms).addsPartitions, want: "0 read:400"},
	{topic: "append-time", load: []string{"--topic-config", "message.timestamp.type=LogAppendTime"}, want: "0 read:400"},
	{topic: "records-deleted", harm: (*harms).deletesRecords, want: "1 read:323 unchecked:77"},
	{topic: "expired", harm: func(h *harms, topic string) { h.retains(topic, "retention.ms") }, want: "1 unchecked:400"},
	{
		topic: "outgrown", load: large, harm: func(h *harms, topic string) { h.retains(topic, "retention.bytes") },
		want: `1 read:[1-9]\d* unchecked:[1-9]\d*`,
	},
	{topic: "tiered", load: remote, harm: func(h *harms, topic string) { h.isMoved(topic) }, want: "0 read:400"},
	{
		topic: "tier-flipped", load: remote, harm: func(h *harms, topic string) { rewrite(h.t, h.isMoved(topic), flipped) }, want: "5 read:399 lost:1 corrupted:1",
		but: map[string]string{"headers": "5 read:391 lost:9 corrupted:9", "wire": `1 read:\d+ unchecked:\d+`},
	},
	{topic: "tier-lost", load: remote, harm: func(h *harms, topic string) { must.Do(h.t, os.Remove(h.isMoved(topic))) }, want: `1 read:\d+ unchecked:\d+`},
	{topic: "compacted", load: keyed, harm: (*harms).isCompacted, want: "2"},
	{
		topic: "compacted-meanwhile", load: keyed, harm: (*harms).wasCompacted, want: `5 read:\d+ lost:\d+`,
		but: map[string]string{"headers": `5 read:\d+ lost:\d+ corrupted:\d+`},
	},
	{topic: "topic-deleted", harm: (*harms).deletesTopic, want: "1"},
	{topic: "topic-made-again", harm: (*harms).makesTopicAgain, want: "1"},
	{topic: "strangers", harm: func(h *harms, topic string) { h.copies(topic, "changed") }, want: "0 read:400 unstamped:10"},
	{
		topic: "copies", harm: func(h *harms, topic string) { h.copies(topic, "") }, want: "1 read:400 duplicated:10",
		but: map[string]string{"headers": "1 read:400 copied:10"},
	},
	{
		topic: "copies-elsewhere", harm: func(h *harms, topic string) { h.copies(topic, "moved") }, want: "1 read:400 corrupted:10",
		but: map[string]string{"headers": "1 read:400 copied:10"},
	},
	{
		topic: "open-transaction", check: []string{"--isolation", "read_committed"}, before: (*harms).opensTransaction, want: "1 read:\\d+ unchecked:\\d+",
		but: map[string]string{"share": "0 read:400 unstamped:1"},
	},
	{
		topic: "fenced", only: "client", load: append(steady, "--transactional-id", "fenced", "--transaction-duration-ms", "1000"), live: true,
		check: []string{"--isolation", "read_committed"}, harm: (*harms).isFenced, want: `0 read:\d+ aborted:\d+`,
		but: map[string]string{"share": `0 read:\d+ aborted:\d+ aborted_read:\d+`},
	},
	{topic: "kt-killed", load: steady, live: true, harm: (*harms).isKilled, want: `0 read:\d+`},
	{
		topic: "kt-killed-in-transaction", only: "client", load: append(steady, "--transactional-id", "killed", "--transaction-duration-ms", "700"), live: true,
		check: []string{"--isolation", "read_committed"}, harm: (*harms).isKilled, want: `0 read:\d+( aborted:\d+( aborted_read:\d+)?)?`, // a transaction may have been committed between the last mark and the kill
	},
	{topic: "topic-made-again-meanwhile", does: (*harms).livesThroughDeletion},
	{topic: "acks-0", when: whenKilled, load: append(steady, "--acks", "0"), live: true, want: `5 read:\d+ lost:\d+( reordered:\d+)?`},
	{
		topic: "retries", when: whenKilled, live: true, want: `0 read:\d+ duplicated:\d+.*`,
		load: append(steady, "--acks", "1", "--idempotence", "false", "--command-property", "request.timeout.ms=1500", "--command-property", "delivery.timeout.ms=20000"),
	},
	{topic: "flipped-and-recovered", when: whenKilled, disk: flipped, want: `5 read:\d+ lost:\d+`},
	{
		topic: "flipped", when: whenStopped, disk: flipped, want: "5 read:399 lost:1 corrupted:1",
		but: map[string]string{"headers": "5 read:391 lost:9 corrupted:9", "wire": `1 read:2\d\d unchecked:1\d\d`},
	},
	{topic: "removed", when: whenStopped, disk: func(log []batch) []batch { return slices.Delete(log, 2, 4) }, want: `5 read:\d+ lost:\d+`},
	{topic: "cut-off", when: whenStopped, disk: func(log []batch) []batch { return log[:len(log)-2] }, want: `5 read:\d+ lost:\d+`},
	{topic: "doubled", when: whenStopped, disk: doubled, want: "1 read:400 duplicated:[89]"},
	{topic: "swapped", when: whenStopped, disk: swapped, want: "1 read:400 reordered:[89]", but: map[string]string{"share": "0 read:400"}},
	{
		topic: "changed", when: whenStopped, disk: changedInPlace, want: "5 read:399 lost:1 corrupted:1",
		but: map[string]string{"headers": "0 read:400"}, // which see no contents: docs/engines.md
	},
	{topic: "restored", when: whenRestored, want: "5 lost:400"},
}

// engines are those of the loads.
func (w *way) engines() []string {
	if w.only != "" {
		return []string{w.only}
	}
	return []string{"client", "wire"}
}

// readers are those of a ledger of the client engine. That of the wire engine is read by "headers", if its records have no stamps.
var readers = map[string][]string{
	"client": nil,
	"group":  {"--consumers", "2"},
	"share":  {"--group-protocol", "share"},
	"wire":   {"--engine", "wire"},
}

// Nothing is green by accident: each way in which a log can lose, double, reorder or change records is called by its name, whoever
// wrote them and whoever reads them.
func TestEveryHarmToALogIsCalledByItsName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := &harms{ledgers: t.TempDir(), remote: t.TempDir(), runs: new(sync.Map)}
	h.kafkaCluster = startCluster(t, 1, "--log-dirs", dir, "--tiered", h.remote, "--property", "log.retention.check.interval.ms=500", "--property", "log.initial.task.delay.ms=500",
		"--property", "log.cleaner.backoff.ms=500", "--property", "log.index.interval.bytes=1000000000") // so that files can be changed below their index
	h.data = must.Have(filepath.Glob(filepath.Join(dir, "*")))(t)[0]
	for _, topic := range []string{"restored-client", "restored-wire", "lived-restore", "lived-restore-group", "lived-restore-share"} {
		must.Have(h.admin().CreateTopics(t.Context(), 2, 1, nil, topic))(t)
	}
	for when := whenOnline; when <= whenRestored; when++ {
		if when == whenRestored {
			h.roundTrips("lived-restore")
		}
		h.stage(t, "loads", when, (*harms).loads)
		h.does(when)
		h.stage(t, "checks", when, (*harms).checks)
	}
	h.awaitEnd("lived-restore", 1500)
	h.lived("lived-restore", `5 read:\d+ lost:\d+.*`)
}

// livesThroughDeletion has round trips whose topics are deleted and made again.
func (h *harms) livesThroughDeletion() {
	h.roundTrips("lived-deletion")
	for kind := range kinds {
		h.deletesTopic("lived-deletion" + kind)
		must.Have(h.admin().CreateTopics(h.t.Context(), 2, 1, nil, "lived-deletion"+kind))(h.t)
	}
	h.lived("lived-deletion", `5 lost:\d+`)
}

// kinds are those of groups.
var kinds = map[string][]string{"": nil, "-group": {"--group", "lived"}, "-share": {"--group-protocol", "share", "--group", "lived-share"}}

// roundTrips starts a round trip of each kind on a topic of its own.
func (h *harms) roundTrips(topic string) {
	for kind, args := range kinds {
		args = slices.Concat(steady, []string{"--topic", topic + kind, "--record-size", "100", "--verify", "--ledger", filepath.Join(h.ledgers, topic+kind), "--partitions", "2"}, args)
		h.runs.Store(topic+kind, h.kt("roundtrip", append(args, "--command-property", "delivery.timeout.ms=10000", "--command-property", "request.timeout.ms=4000")...))
	}
	for kind := range kinds {
		h.awaitEnd(topic+kind, 300)
	}
}

// lived ends the round trips. A later reading finds no less. Nothing that a share group got from a log counts that was cut off since, and the
// group has begun anew.
func (h *harms) lived(topic, want string) {
	for kind := range kinds {
		started, _ := h.runs.LoadAndDelete(topic + kind)
		run := started.(*ktRun)
		run.interrupt()
		r, code := run.wait()
		must.Hold(h.t, r.Verify != nil, "%s: no verdict, exit code %d\n%s", topic+kind, code, run.stderr.String())
		got := fmt.Sprint(code, counts(r.Verify))
		if kind == "-share" {
			must.True(h.t, regexp.MustCompile(`^(1|130)( read:\d+)? unchecked:\d+$`).MatchString(got), "%s: %q\n%s", topic+kind, got, run.stderr.String())
			continue
		}
		must.True(h.t, regexp.MustCompile("^"+want+"$").MatchString(got), "%s: %q, want %q\n%s", topic+kind, got, want, run.stderr.String())
		if topic == "lived-restore" {
			again, code := h.kt("consume", "--verify", filepath.Join(h.ledgers, topic+kind)).wait()
			must.True(h.t, code == exitLost && again.Verify.Lost >= r.Verify.Lost, "%s: %q while it was restored, and read once more exit code %d, %s", topic+kind, got, code, counts(again.Verify))
		}
	}
}

// harms is the broker that the ways have in common.
type harms struct {
	*kafkaCluster
	ledgers, data, remote string    // folders: of ledgers, of the broker's logs, and of its remote tier
	runs                  *sync.Map // by topic: loads that go on, of *ktRun
}

// stage does something for each of the ways of a moment.
func (h *harms) stage(t *testing.T, name string, when moment, do func(*harms, *way)) {
	t.Run(fmt.Sprint(name, " ", when), func(t *testing.T) {
		for i := range ways {
			if w := &ways[i]; w.when == when {
				t.Run(w.topic, func(t *testing.T) {
					t.Parallel()
					do(&harms{h.in(t), h.ledgers, h.data, h.remote, h.runs}, w)
				})
			}
		}
	})
}

// loads makes the loads of a way, and the harm that needs no other broker.
func (h *harms) loads(w *way) {
	if w.does != nil {
		w.does(h)
		return
	}
	for _, engine := range w.engines() {
		topic := w.topic + "-" + engine
		if w.before != nil {
			w.before(h, topic)
		}
		topics := topic
		if w.also != "" {
			topics += "," + w.also + "-" + engine
		}
		args := append([]string{"--engine", engine, "--topic", topics, "--record-size", "200", "--batch-size", "2000", "--verify", "--ledger", filepath.Join(h.ledgers, topic)}, w.load...)
		if w.when < whenRestored {
			args = append(args, "--partitions", "2")
		}
		if w.live {
			h.runs.Store(topic, h.start(args...))
			h.awaitEnd(topic, 100)
		} else if r, code := h.start(append(args, "--num-records", fmt.Sprint(perLoad))...).wait(); !ended(r, code, exitOK) || r.Records.Acknowledged != perLoad {
			h.t.Fatalf("%s: exit code %d, %+v", topic, code, r.Records)
		}
		if w.harm != nil {
			w.harm(h, topic)
		}
	}
}

// interrupts ends a load.
func (h *harms) interrupts(topic string) {
	run, _ := h.runs.LoadAndDelete(topic)
	run.(*ktRun).interrupt()
	run.(*ktRun).wait()
}

// does does to the broker what a moment is about.
func (h *harms) does(when moment) {
	earlier := filepath.Join(h.ledgers, "earlier")
	switch when {
	case whenOnline:
		return
	case whenKilled:
		for _, pause := range []time.Duration{5 * time.Second, time.Second} { // longer than a request may take; and what waits in its sockets
			h.script("pause", "1")
			time.Sleep(pause)
			if pause > time.Second {
				h.script("resume", "1")
				time.Sleep(2 * time.Second)
			}
		}
		h.script("kill", "1")
	case whenStopped:
		h.script("stop", "1")
	case whenRestored:
		h.script("kill", "1")
		must.Do(h.t, os.RemoveAll(h.data))
		must.Do(h.t, os.CopyFS(h.data, os.DirFS(earlier)))
	}
	for i := range ways {
		for _, engine := range ways[i].engines() {
			if w := &ways[i]; w.when == when && w.disk != nil {
				rewrite(h.t, filepath.Join(h.data, w.topic+"-"+engine+"-0", firstSegment), w.disk)
			}
		}
	}
	if when == whenStopped { // a backup is of a broker that runs
		must.Do(h.t, os.CopyFS(earlier, os.DirFS(h.data)))
		must.Do(h.t, os.Remove(filepath.Join(earlier, ".kafka_cleanshutdown")))
	}
	h.script("start", "1")
	time.Sleep(2 * time.Second) // loads go on
	if when == whenKilled {
		h.runs.Range(func(topic, _ any) bool { h.interrupts(topic.(string)); return true })
	}
}

// checks has every reader look for the records of both engines, all at once.
func (h *harms) checks(w *way) {
	runs := make(map[string]*ktRun)
	for name, args := range readers {
		if w.does != nil {
			return
		}
		if w.only == "" || w.only == "client" {
			if args = append([]string{"--verify", filepath.Join(h.ledgers, w.topic+"-client"), "--timeout", "10s"}, args...); name == "share" || name == "group" {
				args = append(args, "--group", w.topic+"-"+name)
			}
			if name != "share" {
				args = append(args, w.check...)
			}
			runs[name] = h.kt("consume", args...)
		}
	}
	if w.only == "" {
		runs["headers"] = h.kt("consume", append([]string{"--verify", filepath.Join(h.ledgers, w.topic+"-wire"), "--timeout", "10s"}, w.check...)...)
	}
	for name, run := range runs {
		_ = run.cmd.Wait() // the code says it
		got := fmt.Sprint(run.cmd.ProcessState.ExitCode())
		if run.stdout.Len() > 0 {
			got += counts(decoded[result.Result](h.t, run.stdout.Bytes(), run.stderr.String()).Verify)
		}
		want, other := w.but[name]
		if !other {
			want = w.want
		}
		if !regexp.MustCompile("^" + want + "$").MatchString(got) {
			h.t.Errorf("%s, read by %s: %q, want %q\n%s", w.topic, name, got, want, run.stderr.String())
		}
	}
}

// counts are the counts of a verdict that are not 0.
func counts(v *ledger.Verdict) (text string) {
	if v == nil {
		return ""
	}
	for _, n := range []struct {
		name  string
		count int64
	}{
		{"read", v.AcknowledgedRead},
		{"lost", v.Lost},
		{"unchecked", v.Unchecked},
		{"undecided", v.Undecided},
		{"aborted", v.Aborted},
		{"aborted_read", v.AbortedRead},
		{"duplicated", v.Duplicated - v.Copied},
		{"copied", v.Copied},
		{"reordered", v.Reordered},
		{"corrupted", v.Corrupted},
		{"unstamped", v.Unstamped},
		{"foreign", v.Foreign},
	} {
		if n.count > 0 {
			text += fmt.Sprintf(" %s:%d", n.name, n.count)
		}
	}
	return text
}

func (h *harms) addsPartitions(topic string) {
	must.Have(h.admin().CreatePartitions(h.t.Context(), 2, topic))(h.t)
}

func (h *harms) deletesRecords(topic string) {
	var to kadm.Offsets
	to.AddOffset(topic, 0, 77, -1)
	must.Have(h.admin().DeleteRecords(h.t.Context(), to))(h.t)
}

// sets sets a setting of a topic.
func (h *harms) sets(topic, name, value string) {
	must.Have(h.admin().AlterTopicConfigs(h.t.Context(), []kadm.AlterConfig{{Name: name, Value: &value}}, topic))(h.t)
}

// retains lets retention take what it can.
func (h *harms) retains(topic, setting string) {
	h.sets(topic, setting, "1")
	h.await("retention in "+topic, func() bool {
		starts, err := h.admin().ListStartOffsets(h.t.Context(), topic)
		first, _ := starts.Lookup(topic, 0)
		second, _ := starts.Lookup(topic, 1)
		return err == nil && first.Offset > 0 && second.Offset > 0
	})
}

// isMoved waits until the first segments of a topic are in the remote tier alone, and returns the file of that of partition 0.
func (h *harms) isMoved(topic string) (path string) {
	h.await("the remote tier of "+topic, func() bool {
		for partition := range 2 {
			local := filepath.Join(h.data, fmt.Sprint(topic, "-", partition), firstSegment)
			if _, err := os.Stat(local); err == nil {
				return false
			}
		}
		return true
	})
	files := must.Have(filepath.Glob(filepath.Join(h.remote, "*", topic+"-0-*", "*.log")))(h.t)
	must.Hold(h.t, len(files) > 0, "nothing of %s is in %s", topic, h.remote)
	return files[0]
}

func (h *harms) isCompacted(topic string) { h.sets(topic, "cleanup.policy", "compact") }

// wasCompacted takes the records that have a later one of the same key, and hides that.
func (h *harms) wasCompacted(topic string) {
	h.sets(topic, "min.cleanable.dirty.ratio", "0.01")
	h.isCompacted(topic)
	h.await("compaction of "+topic, func() bool {
		dirs, err := h.admin().DescribeAllLogDirs(h.t.Context(), kadm.TopicsSet{topic: {0: {}, 1: {}}})
		size := int64(0)
		dirs.Each(func(d kadm.DescribedLogDir) { size += d.Size() })
		return err == nil && size < 3<<20
	})
	h.sets(topic, "cleanup.policy", "delete")
}

func (h *harms) deletesTopic(topic string) {
	must.Have(h.admin().DeleteTopics(h.t.Context(), topic))(h.t)
	h.await("the end of "+topic, func() bool {
		topics, err := h.admin().ListTopics(h.t.Context())
		return err == nil && !topics.Has(topic)
	})
}

func (h *harms) makesTopicAgain(topic string) {
	h.deletesTopic(topic)
	r, code := h.start("--topic", topic, "--partitions", "2", "--num-records", "1000").wait()
	must.True(h.t, ended(r, code, exitOK), "exit code %d", code)
}

// copies writes ten records once more, as another producer, changed or moved to another partition.
func (h *harms) copies(topic, how string) {
	var records []*kgo.Record
	c := h.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(50)}}))
	for len(records) < 10 {
		c.PollRecords(h.t.Context(), 10-len(records)).EachRecord(func(r *kgo.Record) { records = append(records, r) })
	}
	for _, r := range records {
		switch how {
		case "moved":
			r.Partition = 1
		case "changed":
			r.Value = []byte("of somebody else")
		}
	}
	must.Do(h.t, c.ProduceSync(h.t.Context(), records...).FirstErr())
}

// opensTransaction makes a topic with a transaction at the begin of a partition that does not end.
func (h *harms) opensTransaction(topic string) {
	must.Have(h.admin().CreateTopics(h.t.Context(), 2, 1, nil, topic))(h.t)
	c := h.client(kgo.TransactionalID(topic), kgo.TransactionTimeout(5*time.Minute))
	must.Do(h.t, c.BeginTransaction())
	must.Do(h.t, c.ProduceSync(h.t.Context(), &kgo.Record{Topic: topic, Value: []byte("open")}).FirstErr())
}

// isFenced takes the transactional id of a load, and ends it.
func (h *harms) isFenced(topic string) {
	time.Sleep(3 * time.Second)
	_, _, err := h.client(kgo.TransactionalID("fenced")).ProducerID(h.t.Context())
	must.Do(h.t, err)
	time.Sleep(2 * time.Second)
	h.interrupts(topic)
}

// isKilled ends a load by SIGKILL.
func (h *harms) isKilled(topic string) {
	time.Sleep(3 * time.Second)
	run, _ := h.runs.LoadAndDelete(topic)
	must.Do(h.t, run.(*ktRun).cmd.Process.Kill())
	_ = run.(*ktRun).cmd.Wait() // it was killed
}

// batch is a batch of records as it lies in a file.
type batch []byte

func (b batch) offset() int64 { return int64(be.BigEndian.Uint64(b)) }
func (b batch) next() int64   { return b.offset() + int64(be.BigEndian.Uint32(b[23:])) + 1 }

// at returns the batch at another offset, which its checksum does not cover.
func (b batch) at(offset int64) batch {
	b = slices.Clone(b)
	be.BigEndian.PutUint64(b, uint64(offset))
	return b
}

const firstSegment = "00000000000000000000.log"

// rewrite changes the batches in a file.
func rewrite(t *testing.T, path string, change func([]batch) []batch) {
	all := must.Have(os.ReadFile(path))(t)
	var log []batch
	for len(all) > 0 {
		n := 12 + be.BigEndian.Uint32(all[8:])
		log, all = append(log, all[:n:n]), all[n:]
	}
	for _, b := range change(log) {
		all = append(all, b...)
	}
	must.Do(t, os.WriteFile(path, all, 0o644))
}

func flipped(log []batch) []batch {
	b := log[2]
	b[len(b)-20] ^= 1
	return log
}

// changedInPlace is flipped with the checksum that fits.
func changedInPlace(log []batch) []batch {
	b := flipped(log)[2]
	be.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)))
	return log
}

func doubled(log []batch) []batch { return append(log, log[2].at(log[len(log)-1].next())) }

// swapped puts two batches of the same producer id in each other's place.
func swapped(log []batch) []batch {
	for i := 3; ; i++ {
		a, b := log[2], log[i]
		if bytes.Equal(a[23:27], b[23:27]) && bytes.Equal(a[43:51], b[43:51]) { // as many records
			log[2], log[i] = b.at(a.offset()), a.at(b.offset())
			return log
		}
	}
}
