//go:build integration

package jvm_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/host/jvm"
	"github.com/kt-bench/kt/internal/must"
)

// It makes garbage, then waits for the end of its input.
const program = `
public class Tiny {
    static byte[][] keep = new byte[64][];
    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 3000; i++) keep[i % 64] = new byte[64 << 10];
        System.gc();
        System.out.println("ready");
        System.in.read();
    }
}`

// With each collector that the JDK has, a JVM's own figures are those that jstat
// shows of it, and its flags those that it was started with.
func TestAJVMThatRunsAgreesWithJstat(t *testing.T) {
	for _, tool := range []string{"java", "javac", "jstat"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("there is no whole JDK to compare with: ", err)
		}
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "Tiny.java")
	must.Do(t, os.WriteFile(source, []byte(program), 0o600))
	if out, err := exec.Command("javac", source).CombinedOutput(); err != nil {
		t.Fatalf("javac: %v\n%s", err, out)
	}
	for _, collector := range []string{"Serial", "Parallel", "G1", "Z", "Shenandoah"} {
		t.Run(collector, func(t *testing.T) {
			pid := start(t, "-XX:+Use"+collector+"GC", "-Xms32m", "-Xmx64m", "-cp", dir, "Tiny")
			p, err := host.System().Process(pid)
			if f := jvm.ParseFlags(p.Args); err != nil || f.Xmx != 64<<20 || f.Xms != 32<<20 || f.XX["Use"+collector+"GC"] != "true" || f.Main != "Tiny" {
				t.Errorf("ParseFlags(%q) = %+v, %v", p.Args, f, err)
			}
			compare(t, pid)
		})
	}
}

// start starts a JVM that is idle when start returns, and is stopped with the test.
func start(t *testing.T, args ...string) (pid int) {
	t.Helper()
	java := exec.Command("java", args...)
	in := must.Have(java.StdinPipe())(t)
	out := must.Have(java.StdoutPipe())(t)
	must.Do(t, java.Start())
	t.Cleanup(func() {
		_ = in.Close()
		_ = java.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); errors.Is(err, io.EOF) {
		t.Skipf("this JDK does not know %s", args[0])
	} else if err != nil || line != "ready\n" {
		t.Fatalf("java said %q, %v", line, err)
	}
	return java.Process.Pid
}

// compare looks before jstat and after it. A JVM collects garbage and looks at its
// counters when it likes: only what did not change in between can be compared.
func compare(t *testing.T, pid int) {
	t.Helper()
	for range 30 {
		before := read(t, pid)
		out := must.Have(exec.Command("jstat", "-gc", strconv.Itoa(pid)).Output())(t)
		after := read(t, pid)
		if before.HeapUsed != after.HeapUsed || !slices.Equal(before.Collections, after.Collections) {
			continue
		}
		same(t, after, table(string(out)))
		return
	}
	t.Error("the JVM never stood still")
}

func read(t *testing.T, pid int) jvm.Perf {
	t.Helper()
	files := host.System().Glob(fmt.Sprintf("tmp/hsperfdata_*/%d", pid))
	must.Hold(t, len(files) == 1, "hsperfdata of %d: %q", pid, files)
	b := must.Have(host.System().Read(files[0]))(t)
	return must.Have(jvm.ParsePerf(b))(t)
}

// same compares with the columns of jstat, which are rounded to 0.1 KiB and 1 ms.
func same(t *testing.T, got jvm.Perf, columns map[string]float64) {
	t.Helper()
	var count int64
	var seconds float64
	for _, c := range got.Collections {
		count += c.Count
		seconds += c.Time.Seconds()
	}
	for _, row := range []struct {
		says              string
		got, want, within float64
	}{
		{"old used, KiB", float64(got.OldUsed) / 1024, columns["OU"], 0.06},
		{"heap used, KiB", float64(got.HeapUsed) / 1024, columns["S0U"] + columns["S1U"] + columns["EU"] + columns["OU"], 0.25},
		{"collections", float64(count), columns["YGC"] + columns["FGC"] + columns["CGC"], 0},
		{"their time, s", seconds, columns["GCT"], 0.001},
		{"heap, MiB", float64(got.HeapMax) / (1 << 20), 64, 0},
	} {
		must.True(t, math.Abs(row.got-row.want) <= row.within, "%s = %g, but jstat says %g", row.says, row.got, row.want)
	}
	must.True(t, got.Version != "" && got.Uptime > 0, "ParsePerf = %+v", got)
}

// table is a heading and a line of numbers; what a JVM does not have is "-".
func table(text string) map[string]float64 {
	heading, values, _ := strings.Cut(text, "\n")
	names, numbers := strings.Fields(heading), strings.Fields(values)
	columns := make(map[string]float64)
	for i := range min(len(names), len(numbers)) {
		if n, err := strconv.ParseFloat(numbers[i], 64); err == nil {
			columns[names[i]] = n
		}
	}
	return columns
}
