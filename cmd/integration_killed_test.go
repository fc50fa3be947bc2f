//go:build integration

package cmd

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
)

// kt is killed with SIGKILL at random moments of a load. Its ledger has every record that was acknowledged in the whole seconds before,
// as its run file counts them, and none of them is called lost. KT_KILLS is how often each way to write is killed.
func TestALedgerSurvivesKillsAtRandomMoments(t *testing.T) {
	t.Parallel()
	k := startCluster(t, 1)
	kills := must.Have(strconv.Atoi(cmp.Or(os.Getenv("KT_KILLS"), "2")))(t)
	for way, args := range map[string][]string{
		"client":       {"--rate", "2000", "--producers", "2"},
		"wire":         {"--engine", "wire", "--rate", "20000", "--producers", "2"},
		"transactions": {"--rate", "2000", "--producers", "2", "--transaction-duration-ms", "300", "--command-property", "transaction.timeout.ms=10000"},
	} {
		t.Run(way, func(t *testing.T) {
			var records, missing, behind int64
			var seconds, ahead time.Duration
			for i := range kills {
				found := k.in(t).killOne(fmt.Sprintf("%s-%d", way, i), args)
				records, missing, behind, seconds = records+found.acknowledged, missing+found.missing, behind+found.behind, seconds+found.seconds
				ahead = max(ahead, found.ahead)
			}
			t.Logf("%d kills after %v in all: %d records were acknowledged in whole seconds, %d of them are not in the ledgers; %d were read behind their ends. A run file has %v more at most",
				kills, seconds, records, missing, behind, ahead)
			must.True(t, ahead < 10*time.Second, "a ledger ends %v before its run file", ahead)
		})
	}
}

// killedRun is what a load that was killed left.
type killedRun struct {
	acknowledged int64         // in the whole seconds before the end of its ledger, by its run file
	missing      int64         // of these, in the ledger
	behind       int64         // records that were read and are not in the ledger
	seconds      time.Duration // that the ledger has
	ahead        time.Duration // by which the run file has more than the ledger
}

func (k *kafkaCluster) killOne(topic string, args []string) (found killedRun) {
	k.t.Helper()
	dir := k.t.TempDir()
	path, file := filepath.Join(dir, "ledger"), filepath.Join(dir, "run.ktr")
	run := k.kt("produce", append(slices.Clone(args), "--topic", topic, "--partitions", "3", "--record-size", "100", "--duration", "5m", "--verify", "--ledger", path, "--result", file)...)
	k.await("the ledger", func() bool { info, err := os.Stat(path); return err == nil && info.Size() > 0 })
	moment := rand.N(4500 * time.Millisecond)
	time.Sleep(moment)
	must.Do(k.t, run.cmd.Process.Kill())
	_ = run.cmd.Wait() // it was killed

	book := must.Have(ledger.Read(must.Have(os.Open(path))(k.t)))(k.t)
	must.Hold(k.t, !book.CutAt.IsZero() && !book.LedgerDamaged, "%s, killed after %v: the ledger ends at %v", topic, moment, book.CutAt)
	inBook := int64(0)
	for i := range book.Lanes {
		inBook += book.Lanes[i].Acknowledged.Count()
	}
	var began time.Time
	for l, err := range result.NewLines(must.Have(os.Open(file))(k.t), 0).All() {
		if err != nil {
			break // it was killed before the first line was whole
		}
		if l.Start != nil {
			began = l.Start.At
		}
		if w := l.Window; w != nil && !began.Add(w.End).After(book.CutAt) {
			found.acknowledged, found.seconds = found.acknowledged+w.Acknowledged, max(found.seconds, w.End)
		} else if w != nil {
			found.ahead = max(found.ahead, began.Add(w.End).Sub(book.CutAt))
		}
	}
	found.missing = max(0, found.acknowledged-inBook)
	must.True(k.t, found.missing == 0, "%s, killed after %v: %d acknowledged in %v, and %d in the ledger", topic, moment, found.acknowledged, found.seconds, inBook)

	for _, isolation := range []string{"read_uncommitted", "read_committed"} {
		if topic[0] != 't' && isolation == "read_committed" {
			continue
		}
		how := []string{"--verify", path, "--timeout", "30s", "--isolation", isolation}
		r, code := k.kt("consume", how...).wait()
		v := r.Verify
		must.Hold(k.t, v != nil, "%s: exit code %d", topic, code)
		well := v.Lost+v.Corrupted+v.Duplicated+v.Reordered == 0 && v.CutAt.Equal(book.CutAt) && v.Acknowledged == inBook
		if isolation == "read_uncommitted" {
			well = well && v.AcknowledgedRead+v.Aborted == inBook && (code == exitOK || code == exitNotValid || code == exitFailed && inBook == 0)
			found.behind = v.UnknownRead + v.Unissued
		}
		must.True(k.t, well && v.AcknowledgedRead+v.Aborted+v.Unchecked == inBook, "%s, killed after %v, %s: exit code %d, %+v", topic, moment, isolation, code, v)
	}
	client := must.Have(kgo.NewClient(kgo.SeedBrokers(k.brokers)))(k.t)
	defer client.Close()
	must.Have(kadm.NewClient(client).DeleteTopic(context.Background(), topic))(k.t)
	return found
}
