package cmd

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
)

func TestWhatHasToldEverythingPrintsNothingMore(t *testing.T) {
	told := &exitError{code: exitInterrupted}
	for _, c := range []struct {
		what string
		err  error
		want string
		code int
	}{
		{"by itself", told, "", exitInterrupted},
		{"as a signal ends what it has ended", &exitError{exitInterrupted, told}, "", exitInterrupted},
		{"two at once", &exitError{exitInterrupted, errors.Join(told, told)}, "", exitInterrupted},
		{"beside an error", errors.Join(errors.New("a"), told, errors.New("b")), "kt: a\nkt: b\n", exitInterrupted},
		{"problems within what was tried", usageError(fmt.Errorf("reach: %w; go on", errors.Join(errors.New("a"), errors.New("b")))), "kt: reach: a\nkt: b; go on\n", exitUsage},
		{"a sentence of two lines", usageError(fmt.Errorf("create: %w", errors.New("a\nkt: b\x1b[2J"))), "kt: create: a kt: b?[2J\n", exitUsage},
		{"a text around one of another", fmt.Errorf("%w\n: %w", errors.New("a"), errors.New("b")), "kt: a : b\n", exitFailed},
	} {
		var said strings.Builder
		env := Env{Stderr: &said}
		env.sayError(c.err)
		if said.String() != c.want || exitCode(c.err) != c.code {
			t.Errorf("%s: %q with code %d, want %q with %d", c.what, said.String(), exitCode(c.err), c.want, c.code)
		}
	}
}

// verified is the result of a run that is not valid.
func verified(v ledger.Verdict) result.Result {
	var r result.Result
	r.Verify = &v
	return r
}

func TestTheWorstIsTheExitCode(t *testing.T) {
	unwritten := errors.New("disk full")
	for _, c := range []struct {
		what   string
		res    result.Result
		signal int
		err    error
		want   int
	}{
		{what: "nothing", res: result.Result{Valid: true}, want: exitOK},
		{what: "failed records", res: result.Result{Valid: true, Records: result.Records{Failed: 1}}, want: exitFailed},
		{what: "failed records, not valid", res: result.Result{Records: result.Records{Failed: 1}}, want: exitNotValid},
		{what: "a limit, failed records", res: result.Result{Valid: true, Limits: []result.Limit{{}}, Records: result.Records{Failed: 1}}, want: exitNotMet},
		{what: "a limit that is held, failed records", res: result.Result{Valid: true, Limits: []result.Limit{{Held: true}}, Records: result.Records{Failed: 1}}, want: exitFailed},
		{what: "a limit, not valid", res: result.Result{Limits: []result.Limit{{}}}, want: exitNotValid},
		{what: "a condition", res: result.Result{Valid: true, Trailer: result.Trailer{AbortedBy: "errors>0: 1"}}, want: exitNotMet},
		{what: "a limit, a signal", res: result.Result{Valid: true, Limits: []result.Limit{{}}}, signal: exitTerminated, want: exitTerminated},
		{what: "a limit, not written", res: result.Result{Valid: true, Limits: []result.Limit{{}}}, err: unwritten, want: exitFailed},
		{what: "corrupted, not valid", res: verified(ledger.Verdict{Corrupted: 1}), want: exitFailed},
		{what: "not written, not valid", err: unwritten, want: exitFailed},
		{what: "a signal, corrupted, not valid", res: verified(ledger.Verdict{Corrupted: 1}), signal: exitTerminated, want: exitTerminated},
		{what: "lost, a signal, not written, not valid", res: verified(ledger.Verdict{Lost: 1}), signal: exitTerminated, err: unwritten, want: exitLost},
	} {
		must.Match(t, c.want, exitCode(worse(judge(&c.res, c.signal, "text"), c.err)), "%s: code", c.what)
	}
}

func TestThePagesTellWhichExitCodeWins(t *testing.T) {
	_, precedence, _ := strings.Cut(describe(&cobra.Command{Use: "exit-codes"}).Long, "\n\nIf several codes apply")
	precedence, unjudged, _ := strings.Cut("If several codes apply"+precedence, "\n\n")
	must.Match(t, true, strings.HasPrefix(unjudged, "kt report and kt collect do not judge"), "the help ends: %s", unjudged)
	for _, page := range []string{"../docs/result.md", "../ARCHITECTURE.md"} {
		text := must.Have(os.ReadFile(page))(t)
		if !strings.Contains(strings.Join(strings.Fields(string(text)), " "), precedence) {
			t.Errorf("%s does not say: %s", page, precedence)
		}
	}
}
