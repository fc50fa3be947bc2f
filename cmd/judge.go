package cmd

import (
	"fmt"
	"strings"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/result"
)

// judge turns the result into an exit code: what is worst comes first.
func (r *runner) judge(res result.Result) error {
	if res.Lost() {
		return &exitError{exitLost, fmt.Errorf("%d acknowledged records are lost", res.Verify.Lost)}
	}
	if code := r.stop.code(); code != exitOK {
		return &exitError{code: code}
	}
	lost := res.Records.Failed + res.Records.Unknown
	if res.Warmup != nil {
		lost += res.Warmup.Records.Failed + res.Warmup.Records.Unknown
	}
	switch {
	case !res.Valid:
		return &exitError{exitNotValid, fmt.Errorf("the run is not valid: %s", strings.Join(res.Invalid, "; "))}
	case res.Client.Aborted > 0:
		return &exitError{exitFailed, fmt.Errorf("%d transactions could not be committed", res.Client.Aborted)}
	case lost > 0:
		return &exitError{exitFailed, fmt.Errorf("%d records were not acknowledged", lost)}
	}
	return r.judgeReading(res)
}

// judgeReading is judge for what was read.
func (r *runner) judgeReading(res result.Result) error {
	p := &r.load.Plan
	switch {
	case !p.Reads():
	case res.ReadError != "":
		return &exitError{exitFailed, fmt.Errorf("reading ended: %s", res.ReadError)}
	case res.Verify != nil && res.Verify.Corrupted > 0:
		return &exitError{exitFailed, fmt.Errorf("%d records are corrupted", res.Verify.Corrupted)}
	case res.Reading != string(engine.ReadIdle):
	case r.load.Output == "perf-test": // it has said so, and Kafka's tool ends with 0 then
	case p.Load.Records > 0 && !p.Writes():
		return &exitError{exitFailed, fmt.Errorf("%d of %d records were read: none came for %s (--timeout)", res.Records.Consumed, p.Load.Records, p.Read.Timeout)}
	case p.Read.ToEnd:
		return &exitError{exitFailed, fmt.Errorf("%d records were read, and not all that were there: none came for %s (--timeout)", res.Records.Consumed, p.Read.Timeout)}
	case p.Writes():
		return &exitError{exitFailed, fmt.Errorf("%d records were acknowledged and %d read: none came for %s (--timeout)", res.Records.Acknowledged, res.Records.Consumed, p.Read.Timeout)}
	}
	return nil
}
