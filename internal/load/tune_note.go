package load

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/tune"
	"github.com/kt-bench/kt/profiles"
)

const (
	notedProfile  = "throughput" // the one of kt tune without --profile
	notedInterval = time.Second  // for which counters are watched, as kt tune does by default
)

// noteTune returns the function that checks this host in the role of a client, for the record of a run; nil: kt tune does not
// know this system.
func noteTune() func(context.Context) *result.TuneCheck {
	if runtime.GOOS != "linux" {
		return nil
	}
	return func(ctx context.Context) *result.TuneCheck {
		profile, err := tune.LoadProfile(notedProfile, profiles.Of("tune"), ReadSettings)
		if err != nil {
			return nil
		}
		o := tune.Options{Profile: profile, Role: tune.Client, Interval: notedInterval}
		m, err := tune.Look(ctx, host.System(), host.SystemCalls("/"), o)
		if err != nil {
			return nil // the run ended before, or nothing can be read: no run fails for it
		}
		return tuneCheckOf(tune.Check(m, tune.Catalogue()))
	}
}

// tuneCheckOf returns what a report says of a host that did not pass.
func tuneCheckOf(r *tune.Report) *result.TuneCheck {
	check := &result.TuneCheck{Host: r.Machine.Hostname, Profile: r.Machine.Profile.Name, Findings: []result.TuneFinding{}}
	for _, f := range r.ByCost() {
		switch f.Verdict {
		case tune.NotApplicable, tune.Unknown:
			continue
		case tune.Fail, tune.Warn, tune.Info:
			check.Findings = append(check.Findings, result.TuneFinding{
				ID: f.ID, Title: f.Title, Verdict: string(f.Verdict), Current: f.Current, Wanted: f.Wanted, Why: f.Why, Note: f.Note,
			})
		case tune.OK:
		}
		check.Checks++
	}
	return check
}

// ReadSettings reads a settings file of kt tune.
func ReadSettings(path string) ([]byte, error) {
	data, err := input.Read(path, input.Settings)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return data, nil
}
