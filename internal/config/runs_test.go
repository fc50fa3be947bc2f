package config

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/must"
)

func TestAnAgeIsInDaysOrATime(t *testing.T) {
	for _, r := range []struct {
		text string
		want time.Duration // below 0: an error
	}{
		{"", 0},
		{"0", 0},
		{"0d", 0},
		{"90d", 90 * 24 * time.Hour},
		{"1.5d", 36 * time.Hour},
		{"12h", 12 * time.Hour},
		{"36500d", 36500 * 24 * time.Hour},
		{"36501d", -1},
		{"999999h", -1},
		{"-1d", -1},
		{"-1h", -1},
		{"NaNd", -1},
		{"Infd", -1},
		{"d", -1},
		{"90", -1},
		{"tomorrow", -1},
	} {
		is, err := optional(ages).read([]string{r.text})
		got, _ := is.(time.Duration)
		if (err != nil) != (r.want < 0) || err == nil && got != r.want {
			t.Errorf("%q is %v, %v; want %v", r.text, got, err, r.want)
		}
	}
}

func TestTheListOfRunsIsChosenByTheCommandLineAlone(t *testing.T) {
	set := pflag.NewFlagSet("runs", pflag.ContinueOnError)
	r := NewRuns(set)
	sys := System{Getenv: func(name string) string {
		return map[string]string{"KT_TAG": "x", "KT_TOPIC": "orders", "KT_VALID": "true", "KT_ROWS": "5"}[name]
	}}
	must.Do(t, r.Load(sys))
	if len(r.Tags) > 0 || r.Topic != "" || r.Valid || r.Rows != 5 {
		t.Errorf("the environment made it %+v", r)
	}
}

func TestTagsAreCheckedAndCountOnce(t *testing.T) {
	if r := mustLoad(t, given{args: []string{"--tag", "nightly,,eu", "--tag", "nightly"}}); strings.Join(r.Tags, " ") != "nightly eu" {
		t.Errorf("tags are %q", r.Tags)
	}
	for _, bad := range []string{"a b", "-a", "a/b", strings.Repeat("x", 65), "ä"} {
		if _, err := load(t, given{args: []string{"--tag", bad}}); err == nil || !strings.Contains(err.Error(), "--tag") {
			t.Errorf("the tag %q: %v", bad, err)
		}
	}
}
