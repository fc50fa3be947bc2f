package cmd

import (
	"errors"
	"fmt"

	"github.com/kt-bench/kt/internal/cluster"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
)

// The exit codes of every command.
const (
	exitOK          = 0
	exitFailed      = 1 // it could not be done, or records failed
	exitUsage       = 2 // the command line, a file or the topic does not fit; nothing was done
	exitNotMet      = 3 // the machine is not fit
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
	{exitFailed, "failed: no broker reached, records that were not acknowledged, transactions that could not be committed, records that --verify found corrupted, or duplicated or reordered against the client's settings or could not check, fewer read than asked for, or processes of a run on many hosts that are lost, were stopped while most others ran on, or are still at work when they are collected"},
	{exitUsage, "usage: the command line, a file or the topic does not fit; nothing was done"},
	{exitNotMet, "not fit: kt tune --check found something on which Kafka fails or loses data, with --strict also a warning"},
	{exitNotValid, "not valid: kt did not keep its own schedule at a fixed rate"},
	{exitLost, "lost: --verify found that acknowledged records are not in the log"},
	{exitHungUp, "ended because the terminal was closed; the run file covers what was measured until then"},
	{exitInterrupted, "interrupted by Ctrl-C; the summary covers what was measured until then"},
	{exitUnread, "ended because the reader of its output had gone, as head goes; likewise"},
	{exitTerminated, "ended by SIGTERM; likewise"},
}

// precedence explains, for `kt help exit-codes`, which of several codes applies. judge, worse and
// runLoad implement it.
const precedence = "Where several hold, the code is the first of these: 5; that of a signal; 1 for records that are corrupted, duplicated or reordered, or for what went wrong beside the load (a result that could not be written, a topic that could not be deleted); 4; 1 for anything else."

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

func usageError(err error) error { return &exitError{exitUsage, err} }

// exitCode returns the exit code for the error of a command.
func exitCode(err error) int {
	var e *exitError
	var f *run.Fault
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &e):
		return e.code
	case errors.As(err, &f) && f.Kind == run.Lost:
		return exitLost
	case errors.As(err, &f) && f.Kind == run.NotValid:
		return exitNotValid
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
	missing := apart(res)
	switch {
	case process == nil:
		return missing
	case process.Lost:
		return &exitError{process.Code, missing}
	}
	return &exitError{process.Code, fmt.Errorf("%s: %s", process.Host, process.Text)}
}
