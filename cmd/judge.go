package cmd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// judge returns an error with the exit code of a result, nil for 0. signalled is the code of
// the signal that ended the run, or exitOK. The worst comes first.
func judge(res result.Result, signalled int, output string) error {
	if res.Lost() {
		return &exitError{exitLost, fmt.Errorf("%s lost%s", theme.Plural(res.Verify.Lost, "acknowledged record is", "acknowledged records are"), inGroups(res.Verify))}
	}
	if signalled != exitOK {
		return &exitError{code: signalled}
	}
	lost := res.Records.Failed + res.Records.Unknown
	if res.Warmup != nil {
		lost += res.Warmup.Records.Failed + res.Warmup.Records.Unknown
	}
	switch v := res.Verify; {
	case res.Damaged():
		return &exitError{exitFailed, fmt.Errorf("%s%s", damage(v), inGroups(v))}
	case !res.Valid:
		return &exitError{exitNotValid, fmt.Errorf("the run is not valid: %s", few(res.Invalid))}
	case res.Client.Aborted > 0:
		return &exitError{exitFailed, fmt.Errorf("%s could not be committed", theme.Plural(res.Client.Aborted, "transaction", "transactions"))}
	case lost > 0:
		return &exitError{exitFailed, fmt.Errorf("%s not acknowledged", theme.Plural(lost, "record was", "records were"))}
	}
	return judgeReading(res, output)
}

// worse returns the error to end with. judged is of the result, err of what went wrong beside
// it. Both have their lines, and err has the exit code unless records are lost.
func worse(judged, err error) error {
	if err == nil {
		return judged
	}
	code := exitCode(err)
	if exitCode(judged) == exitLost {
		code = exitLost
	}
	return &exitError{code, errors.Join(judged, err)}
}

// few returns the first of many reasons: a run on many hosts may have dozens.
func few(reasons []string) string {
	const most = 2
	if n := len(reasons) - most; n > 1 {
		return fmt.Sprintf("%s; and %d reasons more", strings.Join(reasons[:most], "; "), n)
	}
	return strings.Join(reasons, "; ")
}

// damage says what Damaged has found.
func damage(v *ledger.Verdict) string {
	const excluded = "duplicated or reordered, which the client's settings exclude"
	repeats := v.Duplicated + v.Reordered + v.LateUndecided
	switch {
	case repeats == 0 || v.RepeatsAllowed:
		return fmt.Sprintf("%s corrupted", theme.Plural(v.Corrupted, "record is", "records are"))
	case v.Corrupted == 0:
		return fmt.Sprintf("%s %s", theme.Plural(repeats, "record is", "records are"), excluded)
	}
	return fmt.Sprintf("%s corrupted and %s %s", theme.Plural(v.Corrupted, "record is", "records are"), theme.Count(repeats), excluded)
}

// inGroups returns a remark for counts that are sums over several groups.
func inGroups(v *ledger.Verdict) string {
	if v.Readers < 2 {
		return ""
	}
	return fmt.Sprintf(" (added up over %d groups)", v.Readers)
}

// judgeReading is judge for what was read.
func judgeReading(res result.Result, output string) error {
	p := &res.Plan
	switch {
	case !p.Reads():
	case res.ReadError != "":
		return &exitError{exitFailed, fmt.Errorf("reading ended: %s", res.ReadError)}
	case res.ReadEnd != string(engine.ReadIdle):
	case output == "perf-test": // it has a line about that, and Kafka's tool ends with 0 then
	case p.Load.Records > 0 && !p.Writes():
		return &exitError{exitFailed, fmt.Errorf("%s of %s read: none came for %s (--timeout)", theme.Count(res.Records.Consumed), theme.Plural(p.RecordsToRead(), "record was", "records were"), p.Read.Timeout)}
	case p.Read.ToEnd:
		return &exitError{exitFailed, fmt.Errorf("%s read, and not all that were there: none came for %s (--timeout)", theme.Plural(res.Records.Consumed, "record was", "records were"), p.Read.Timeout)}
	case p.Writes():
		return &exitError{exitFailed, fmt.Errorf("%s acknowledged and %s read: none came for %s (--timeout)", theme.Plural(res.Records.Acknowledged, "record was", "records were"), theme.Count(res.Records.Consumed), p.Read.Timeout)}
	}
	if v := res.Verify; v != nil && v.Unchecked+v.Undecided > 0 {
		return &exitError{exitFailed, fmt.Errorf("%s not checked%s: they are no longer there to be read, were not reached, or may have been cut off since", theme.Plural(v.Unchecked+v.Undecided, "acknowledged record was", "acknowledged records were"), inGroups(v))}
	}
	return nil
}
