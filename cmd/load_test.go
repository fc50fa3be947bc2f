package cmd

import (
	"bytes"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/calibrate"
	"github.com/kt-bench/kt/internal/cluster"
	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/deploy"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/load"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/tune"
)

func TestLittleAddressSpaceIsAnErrorThatNamesTheLimit(t *testing.T) {
	for limit, want := range map[uint64]bool{0: false, 1 << 30: true, 2 << 30: false} {
		err := addressSpace(limit)
		must.True(t, (err != nil) == want && (!want || strings.Contains(err.Error(), "ulimit -v: the address space is limited to 1")),
			"limit %d: %v", limit, err)
	}
}

func TestMemoryOfAReadingRunLeavesAQuarterOfTheCgroup(t *testing.T) {
	p := &plan.Plan{Read: plan.Read{Consumers: 1}}
	for usable, most := range map[int64]int64{0: 400 << 20, 64 << 30: 400 << 20, 256 << 20: 192 << 20} {
		got := readerMemory(p, usable)
		must.True(t, got <= most, "of %d bytes, %d, want %d at most", usable, got, most)
	}
}

// The loads of a workload share the collector: what each of them would need counts for all.
func TestTheCollectorIsSetForAllLoadsTogether(t *testing.T) {
	brokers := []string{"b:1"}
	reads := &plan.Plan{Command: plan.Consume, Bootstrap: brokers, Read: plan.Read{Consumers: 3}}
	writes := &plan.Plan{Command: plan.Produce, Bootstrap: brokers, Producers: 60}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	for _, tc := range []struct {
		plans  []*plan.Plan
		gc     int
		memory int64
	}{
		{[]*plan.Plan{writes}, 100, math.MaxInt64},
		{[]*plan.Plan{writes, writes}, manyGC, math.MaxInt64},
		{[]*plan.Plan{writes, reads}, 100, loadMemory + 12<<20 + 59*32<<20},
		{[]*plan.Plan{reads}, readerGC, loadMemory + 12<<20},
		{[]*plan.Plan{reads, reads}, readerGC, loadMemory + 24<<20},
		{[]*plan.Plan{{Command: plan.Produce, Producers: 1}, {Command: plan.Consume, Read: plan.Read{Consumers: 1}}}, 100, loadMemory},
	} {
		debug.SetMemoryLimit(math.MaxInt64)
		tuneProcess(&Env{Getenv: func(string) string { return "" }}, tc.plans...)
		want := tc.memory
		if usable := host.System().UsableMemory(); usable > 0 && want < math.MaxInt64 && want > loadMemory {
			want = min(want, usable/4*3)
		}
		must.Match(t, tc.gc, debug.SetGCPercent(100), "GC percent of %d plans", len(tc.plans))
		must.Match(t, want, debug.SetMemoryLimit(-1), "memory limit of %d plans", len(tc.plans))
	}
}

// A notice has a line of its own, and after the wait nothing more is written.
func TestAWaitShowsItsTimeOnATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		o := &output{env: &Env{StderrTTY: true, Stderr: &said, Now: time.Now}, load: &load.Load{Run: new(config.Run)}}
		done := o.prepare()
		time.Sleep(3500 * time.Millisecond)
		o.notify(run.Notice{Text: "created topic orders"})
		time.Sleep(time.Second)
		done()
		done()
		time.Sleep(time.Minute)
		lines := strings.Split(strings.ReplaceAll(said.String(), restart, "|"), "\n")
		must.True(t, len(lines) == 2 && strings.HasSuffix(lines[0], "3s|kt: created topic orders") && strings.HasSuffix(lines[1], "4s|"), "%q", lines)
		o.env.StderrTTY = false
		o.prepare()()
		must.Match(t, 1, strings.Count(said.String(), "\n"), "%q without a terminal", said.String())
	})
}

func TestTheQuestionAboutAProtectedClusterTellsWhatTheLoadDoes(t *testing.T) {
	p := plan.Plan{
		Command: plan.Produce, Bootstrap: []string{"p-1:9092", "p-2:9092"}, Topic: plan.Topic{Name: "orders"},
		Load: plan.Load{Rate: plan.Rate{PerSecond: 50_000}, Duration: plan.Duration(time.Minute)},
	}
	must.Match(t, "kt produce with topic orders at p-1:9092,p-2:9092, at 50,000 records/s, for 1m00s", describeLoad(&p), "the load")
	p.Load = plan.Load{Rate: plan.Unlimited, Records: 1000}
	must.Match(t, "kt produce with topic orders at p-1:9092,p-2:9092, at no limit, 1,000 records", describeLoad(&p), "the load")
}

// A file stands for a terminal that kt is not in the foreground of.
func TestAJobInTheBackgroundHasNoScreen(t *testing.T) {
	file := must.Have(os.Open(os.DevNull))(t)
	defer file.Close()
	env := Env{Getenv: func(name string) string { return map[string]string{"TERM": "xterm"}[name] }, Stdout: file, StdoutTTY: true}
	_, ok := env.screen()
	must.True(t, !ok, "the screen is drawn on a terminal that is not kt's: the kernel would stop it")
}

func TestTheBackgroundIsThatOfTheFlagBeforeThatOfTheTerminal(t *testing.T) {
	for _, row := range []struct {
		theme    string
		terminal string // COLORFGBG
		dark     bool
	}{
		{"auto", "", true},
		{"auto", "15;0", true},
		{"auto", "0;15", false},
		{"auto", "0;default;7", false},
		{"auto", "7;8", true},
		{"auto", "0;default", true},
		{"light", "15;0", false},
		{"dark", "0;15", true},
	} {
		env := &Env{Getenv: func(string) string { return row.terminal }}
		must.Match(t, row.dark, env.dark(row.theme), "--theme %s and COLORFGBG=%q: dark", row.theme, row.terminal)
	}
}

func TestACeilingThatIsTooLowIsNotSaved(t *testing.T) {
	path := filepath.Join(t.TempDir(), calibrate.FileName)
	var said strings.Builder
	env := &Env{Stderr: &said}
	d := calibrate.Document{Schema: calibrate.Schema, Ceiling: result.Ceiling{RecordsPerSecond: 1}, TooLow: "others used 60 % of the CPUs: this ceiling is too low"}
	err := saveCeiling(env, path, d, false)
	must.True(t, exitCode(err) == exitNotValid && strings.Contains(err.Error(), "60 %"), "%v, with exit code %d", err, exitCode(err))
	_, err = os.Stat(path)
	must.True(t, err != nil && said.String() == "", "it was saved, and kt said %q", said.String())
	d.TooLow = ""
	err = saveCeiling(env, path, d, false)
	must.True(t, err == nil && strings.Contains(said.String(), "saved in "+path), "%v, and kt said %q", err, said.String())
	_, err = os.Stat(path)
	must.True(t, err == nil, "%v", err)
}

// What a unit's StateDirectory names becomes its user's, with all that is in it: root's journal must
// be neither in it nor around it.
func TestNoUnitSharesTheFolderOfTheJournal(t *testing.T) {
	seen := 0
	unit := new(strings.Builder)
	must.Do(t, (deploy.Unit{Words: []string{"kt"}}).Write(unit))
	for line := range strings.Lines(unit.String()) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if strings.HasPrefix(key, "#") || !strings.HasSuffix(key, "Directory") {
			continue
		}
		for dir := range strings.FieldsSeq(value) {
			seen++
			dir = "/var/lib/" + dir + "/"
			journal := tune.JournalFolder + "/"
			must.True(t, !strings.HasPrefix(dir, journal) && !strings.HasPrefix(journal, dir), "%s shares %s with kt tune's journal", line, dir)
		}
	}
	must.True(t, seen != 0, "the unit has no directory of its own any more")
}

func TestAgentsOfOneHomeHaveFoldersOfTheirOwn(t *testing.T) {
	env := &Env{HomeDir: "/home/kt", Getenv: func(string) string { return "" }}
	one, shared := must.Both(agentDirs(env, "", "vm1"))(t)
	two, sharedToo, _ := agentDirs(env, "", "vm2")
	must.True(t, filepath.Base(one) == "vm1" && filepath.Base(two) == "vm2" && filepath.Dir(one) == filepath.Dir(two) && shared == sharedToo,
		"folders %s and %s, of others %s and %s", one, two, shared, sharedToo)
	dir, _, err := agentDirs(env, "/var/kt", "vm1")
	must.True(t, err == nil && dir == "/var/kt", "one that was asked for is %s, %v", dir, err)
}

func TestAProcessThatIsLostCountsInTheNumberOfParts(t *testing.T) {
	res := result.Result{Processes: make([]result.ProcessRow, 4)}
	res.Processes[1].Counted = true
	lost := cluster.ProcessError{Host: "vm1", Ended: cluster.Ended{Code: exitFailed, Text: "its processes are gone"}, Lost: true}
	err := judgeParts(&res, &lost)
	must.True(t, exitCode(err) == exitFailed && strings.HasPrefix(err.Error(), "3 of 4 parts are left out"), "it ends with %v", err)
	late := cluster.ProcessError{Host: "vm2", Ended: cluster.Ended{Code: exitNotValid, Text: "late"}}
	err = judgeParts(&res, &late)
	must.True(t, exitCode(err) == exitNotValid && err.Error() == "vm2: late", "with a worse one it ends with %v", err)
}

func TestWhatAnAgentTellsOfItsConnectionsIsTrueOrLeftOut(t *testing.T) {
	for text, want := range map[string]string{
		"security.protocol=SSL\n":                     "SSL",
		"url.password=geheim\n":                       "", // of RabbitMQ or Pulsar, by the URL of each load
		"ssl.truststore.type=PEM\nurl.password=x\n":   "",
		"client.id=no property of security\nacks=1\n": "PLAINTEXT",
	} {
		path := filepath.Join(t.TempDir(), "client.properties")
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		env := &Env{Getenv: func(string) string { return "" }, Stderr: io.Discard}
		got, _, err := agentSecurity(env, &config.Agent{CommandConfig: path, AllowBroker: []string{"b"}})
		must.True(t, err == nil && got == want, "%q: %q, %v; want %q", text, got, err, want)
	}
}
