package report

import (
	"bytes"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

func examined() DoctorDocument {
	return DoctorDocument{
		Exit:    3,
		Cluster: result.Cluster{ID: "KmjL-VGvBSU5Y8k3UhDtOQ", Version: "v4.3", Controller: 3, Brokers: []result.Broker{{ID: 1, Addr: "kafka-1:9092"}}},
		Checks: []DoctorRow{
			{Name: "round trip", About: "broker 1", State: "pass", Text: "min 678µs, p99 12.5ms of 20", Figures: map[string]int64{"min_us": 678, "p99_us": 12500}},
			{
				Name: "listener", About: "broker 2", State: "failure", Text: "advertises kafka-2:9092: the name does not resolve from here (no such host)",
				Advice: "set advertised.listeners of broker 2 to a name that clients resolve, or add the name to DNS or /etc/hosts",
			},
			{Name: "quotas", About: "client-id kt\x1b[31m\nkt: forged", State: "warning", Text: "producer_byte_rate 1 MiB/s on each broker", Advice: "raise it, or stay below"},
			{Name: "rights", State: "unknown", Text: "not tried (--read-only)"},
		},
	}
}

func TestChecksOfAClusterAreWhatTheGoldenFilesShow(t *testing.T) {
	for look, o := range map[string]struct {
		theme theme.Options
		width int
	}{
		"plain": {}, "ascii": {theme: theme.Options{ASCII: true}}, "narrow": {width: 60},
		"color": {theme: theme.Options{Profile: colorprofile.TrueColor, Dark: true}, width: 100},
	} {
		var b bytes.Buffer
		if err := Doctor(&b, examined(), Options{Theme: theme.New(o.theme), Width: o.width}); err != nil {
			t.Fatal(err)
		}
		golden(t, "doctor/"+look+".txt", b.String())
	}
	var b bytes.Buffer
	if err := DoctorJSON(&b, examined()); err != nil {
		t.Fatal(err)
	}
	golden(t, "doctor/doctor.json", b.String())
}
