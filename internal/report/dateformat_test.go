package report

import (
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
)

func TestDatesAreWrittenByJavasPatterns(t *testing.T) {
	at := time.Date(2026, 1, 4, 0, 5, 9, 7_900_000, time.FixedZone("CET", 3600)) // a Sunday
	for _, tc := range must.Rows[[]struct{ Pattern, Want string }](t, "dateformat") {
		f, err := ParseDateFormat(tc.Pattern)
		if tc.Pattern == "HH Uhr" {
			must.Err(t, "the letter U is not known", err, "%q: the error", tc.Pattern)
			continue
		}
		if err != nil || f.Format(at) != tc.Want {
			t.Errorf("%q gives %q, %v; want %q", tc.Pattern, f.Format(at), err, tc.Want)
		}
	}
	must.Err(t, "no end", must.Fail(ParseDateFormat("HH 'o''clock")), "a quote without an end")
	kafkas, err := ParseDateFormat("yyyy-MM-dd HH:mm:ss:SSS")
	if none := (DateFormat{}); err != nil || none.Format(at) != kafkas.Format(at) {
		t.Errorf("without a pattern it is %q, with Kafka's %q", none.Format(at), kafkas.Format(at))
	}
}
