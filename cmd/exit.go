package cmd

import (
	"errors"
	"fmt"

	"github.com/kt-bench/kt/internal/cluster"
	"github.com/kt-bench/kt/internal/load"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/secret"
)

// The exit codes of every command.
const (
	exitOK          = 0
	exitFailed      = 1 // it could not be done, or records failed
	exitUsage       = 2 // the command line, a file or the topic does not fit; nothing was done
	exitNotMet      = 3 // the machine or the cluster is not fit, or a limit is not held
	exitNotValid    = 4 // kt did not keep its own schedule, so the latencies are not the system's
	exitLost        = 5 // acknowledged records are lost
	exitHungUp      = 129
	exitInterrupted = 130
	exitUnread      = 141
	exitTerminated  = 143
)

// exitCodes explains the codes for `kt help exit-codes`.
var exitCodes = []struct {
	code    int
	meaning string
}{
	{exitOK, "done"},
	{exitFailed, "failed: no broker was reached"},
	{exitFailed, "records were not acknowledged or are not in the log, or transactions not committed"},
	{exitFailed, "kt find found no rate that holds"},
	{exitFailed, "fewer records were read than asked for"},
	{exitFailed, "--verify found corrupted records, or could not check some"},
	{exitFailed, "--verify found repeats or reordering that the client's settings exclude"},
	{exitFailed, "processes on other hosts are lost, were stopped early or still run"},
	{exitUsage, "usage: a flag, a file or the topic does not fit; nothing was done"},
	{exitNotMet, "not fit: kt tune --check found a failure, with --strict also a warning"},
	{exitNotMet, "kt doctor found a failure"},
	{exitNotMet, "kt compare passed a limit of --fail-on"},
	{exitNotMet, "a run did not keep a --limit, or a condition of --abort-on ended it"},
	{exitNotValid, "not valid: kt stood still, or did not keep its own schedule at a fixed rate, or at the lowest rate of kt find"},
	{exitNotValid, "kt calibrate --save found that others used the CPUs, and saved nothing"},
	{exitLost, "lost: --verify found that acknowledged records are not in the log"},
	{exitHungUp, "the terminal was closed; the run file ends there"},
	{exitInterrupted, "Ctrl-C; the summary and the run file end there"},
	{exitUnread, "the reader of kt's output ended, as head does; the run file ends there"},
	{exitTerminated, "SIGTERM; the summary and the run file end there"},
}

// precedence explains, for `kt help exit-codes`, which of several codes applies. judge, worse and
// runLoad implement it.
const precedence = "If several codes apply, kt uses the first of these: 5; that of a signal; 1 for corrupted, duplicated or reordered records, and for errors outside the load (a result not written, a topic not deleted); 4; 3; 1 for anything else."

// unjudged names the commands that read runs.
const unjudged = "kt report and kt collect do not judge a run, so they never end with 4 or 5, and kt report ends with 3 only if it is given a --limit. kt collect ends with 1 if processes of the run are left out."

// exitError is an error with an exit code. If err is nil, its text is empty, because the command
// has printed everything already.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func usageError(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{exitUsage, err}
}

// exitCode returns the exit code for the error of a command.
func exitCode(err error) int {
	var e *exitError
	var f *run.Fault
	var unfit *result.MisfitError
	var foreign *secret.BindingError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &e):
		return e.code
	case errors.As(err, &unfit), errors.As(err, &foreign):
		return exitUsage
	case errors.As(err, &f) && f.Kind == run.Lost:
		return exitLost
	case errors.As(err, &f) && f.Kind == run.NotValid:
		return exitNotValid
	case errors.As(err, &f) && f.Kind == run.NotMet:
		return exitNotMet
	}
	return exitFailed
}

// judge returns the error of a result; nil: exit code 0. signalled is the code of the signal that
// ended the run, or exitOK. With the output perf-test a reader that got too few records is no
// error, as with Kafka's own tool.
func judge(res *result.Result, signalled int, output string) error {
	if signalled != exitOK && !res.Lost() {
		return &exitError{code: signalled}
	}
	return run.Judge(res, output == "perf-test")
}

// worse joins the error of a result, judged, and the error of anything beside the load, err. The
// exit code is that of err, unless records are lost.
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

// judgeParts returns the error of a run on many hosts whose result as a whole has no fault.
// process is the worst error of a process, or nil. A lost process counts as a missing part,
// because a notice has given the reason.
func judgeParts(res *result.Result, process *cluster.ProcessError) error {
	missing := load.MissingParts(res)
	switch {
	case process == nil:
		return missing
	case process.Lost:
		return &exitError{process.Code, missing}
	}
	return &exitError{process.Code, fmt.Errorf("%s: %s", process.Host, process.Text)}
}
