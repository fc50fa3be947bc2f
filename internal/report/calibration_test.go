package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/calibrate"
	"github.com/kt-bench/kt/internal/result"
)

// calibrated is a calibration on a host that others kept busy.
func calibrated() calibrate.Document {
	c := result.Ceiling{RecordsPerSecond: 83_341, MiBPerSecond: 8, CPUSecondsPerMillion: 2}
	others := 0.6
	return calibrate.Document{
		Shape: "produce wire 100 B compression.type=none acks=all", Brief: "produce wire 100 B", Ceiling: c, Clients: 1,
		TooLow: "others used 60 % of the CPUs: this ceiling is too low",
		Tried:  []calibrate.Trial{{Clients: 1, OthersCPU: &others, Ceiling: c}},
		Schedule: []calibrate.Kept{
			{Rate: 1000, OfferedShare: 1, Kept: true, Valid: true},
			{Rate: 50_000, OfferedShare: 0.8, Valid: true},
			{Rate: 1_000_000, OutOfReach: true},
		},
	}
}

func TestACalibrationTellsWhatIsWrongWithIt(t *testing.T) {
	var b bytes.Buffer
	if err := Calibration(&b, calibrated(), Options{Width: 60}); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(b.String()), " ")
	for _, want := range []string{
		"produce wire 100 B", "others used 60 % of the CPUs", "producers 1 offers most", "1,000 records/s: 100% offered", "50,000 records/s: not kept, 80% offered",
		"1,000,000 records/s: out of reach",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in it:\n%s", want, b.String())
		}
	}
	if strings.Contains(text, "compression.type") {
		t.Errorf("the whole shape is in it:\n%s", b.String())
	}
	b.Reset()
	if err := CalibrationJSON(&b, calibrated(), Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"shape": "produce wire 100 B compression.type=none acks=all"`, `"too_low": "others`, `"others_cpu_share": null`, `"others_cpu_share": 0.6`, `"kept": true`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s is not in it:\n%s", want, b.String())
		}
	}
}

func TestALoadFarAboveItsCeilingSaysThatTheCeilingIsTooLow(t *testing.T) {
	for share, want := range map[float64]string{0.62: "at 62% of what this host can offer", 829.69: "the saved ceiling is too low: run kt calibrate --save again"} {
		var r result.Result
		r.Ceiling, r.CeilingShare, r.Valid = &result.Ceiling{RecordsPerSecond: 100}, &share, true
		if got, _ := ceiling(&r); !strings.Contains(got, want) {
			t.Errorf("%g: %q", share, got)
		}
	}
}
