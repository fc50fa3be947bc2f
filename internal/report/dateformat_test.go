package report

import (
	"github.com/kt-bench/kt/internal/must"
	"testing"
	"time"
)

func TestDatesAreWrittenByJavasPatterns(t *testing.T) {
	at := time.Date(2026, 1, 4, 0, 5, 9, 7_900_000, time.FixedZone("CET", 3600)) // a Sunday
	for _, tc := range []struct{ pattern, want string }{
		{"yyyy-MM-dd HH:mm:ss:SSS", "2026-01-04 00:05:09:007"}, // that of Kafka's tool
		{"yyyyMMdd'T'HHmmss.SSS", "20260104T000509.007"},
		{"yy/M/d H:m:s S", "26/1/4 0:5:9 7"},
		{"y", "2026"},
		{"EEE, dd MMM yyyy", "Sun, 04 Jan 2026"},
		{"EEEE d MMMM", "Sunday 4 January"},
		{"hh:mm a, K k h", "12:05 AM, 0 24 12"},
		{"D u G", "4 7 AD"},
		{"Z z X XX XXX", "+0100 CET +01 +0100 +01:00"},
		{"'o''clock' ''HH''", "o'clock '00'"},
		{"SSSSSS", "000007"}, // milliseconds, and no fraction
		{"HH Uhr", ""},
		{"", ""},
	} {
		f, err := ParseDateFormat(tc.pattern)
		if tc.pattern == "HH Uhr" {
			must.Err(t, "the letter U is not known", err, "%q: the error", tc.pattern)
			continue
		}
		if err != nil || f.Format(at) != tc.want {
			t.Errorf("%q gives %q, %v; want %q", tc.pattern, f.Format(at), err, tc.want)
		}
	}
	must.Err(t, "no end", must.Fail(ParseDateFormat("HH 'o''clock")), "a quote without an end")
	kafkas, err := ParseDateFormat("yyyy-MM-dd HH:mm:ss:SSS")
	if none := (DateFormat{}); err != nil || none.Format(at) != kafkas.Format(at) {
		t.Errorf("without a pattern it is %q, with Kafka's %q", none.Format(at), kafkas.Format(at))
	}
}
