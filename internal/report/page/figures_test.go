package page

import (
	"io"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/result"
)

func TestAPageCountsPartitionsThatGotNothing(t *testing.T) {
	r := runs()["produce"]
	r.Partitions = []result.PartitionRow{{ID: 0, Records: 200}, {ID: 1, Records: 100}}
	if text := textOf(pageOf(t, r)); !strings.Contains(text, "6 partitions; skew 4.00 ") {
		t.Errorf("two of six partitions got records:\n%s", text)
	}
}

func TestAPageOfARunThatIsTooShortHasNoRate(t *testing.T) {
	r := runs()["produce"]
	r.Throughput.Seconds, r.Throughput.RecordsPerSecond, r.TargetReached = 0.9, 777, nil
	figures := result.Figures{RecordsPerSecond: 777, MiBPerSecond: 777}
	r.Hosts = []result.HostRow{{Host: "vm14", Processes: 1, Figures: figures}}
	r.Processes = []result.ProcessRow{{Host: "vm14", Process: 1, Counted: true, Figures: figures}}
	if text := textOf(pageOf(t, r)); strings.Contains(text, "777") {
		t.Errorf("a rate of 0.9 s is quoted:\n%s", text)
	}
}

func TestErrorsOfAPageAreThoseOfALimitAndLossesStandBeside(t *testing.T) {
	r := runs()["produce"]
	r.Records.Failed, r.Records.Unknown, r.Records.Unsent = 3, 2, 1
	r.Verify = &ledger.Verdict{Lost: 10}
	if text := textOf(pageOf(t, r)); !strings.Contains(text, "errors 6 3 failed 2 unknown 1 never sent 10 lost ") {
		t.Error(text)
	}
	if text := textOf(written(t, func(w io.Writer) error { return Several(w, []result.Result{r}, []string{"a"}) })); !strings.Contains(text, "never sent 6\nlost 10\n") {
		t.Error(text)
	}
}
