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

// The exit codes of every command. help/exit-codes.txt explains them, and which of several applies.
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
	case errors.As(err, &f) && f.Kind == run.Lost:
		return exitLost
	case errors.As(err, &unfit), errors.As(err, &foreign):
		return exitUsage
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
