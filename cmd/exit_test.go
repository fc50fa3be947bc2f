package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

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
		must.True(t, said.String() == c.want && exitCode(c.err) == c.code,
			"%s: %q with code %d, want %q with %d", c.what, said.String(), exitCode(c.err), c.want, c.code)
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
		{what: "a doubt, failed records", res: result.Result{Valid: true, Doubts: []result.Doubt{{ID: "one-run"}}, Records: result.Records{Failed: 1}}, want: exitNotMet},
		{what: "a doubt, not valid", res: result.Result{Doubts: []result.Doubt{{ID: "one-run"}}}, want: exitNotValid},
		{what: "a doubt", res: result.Result{Valid: true, Doubts: []result.Doubt{{ID: "one-run"}}}, want: exitNotMet},
		{what: "a limit, a signal", res: result.Result{Valid: true, Limits: []result.Limit{{}}}, signal: exitTerminated, want: exitTerminated},
		{what: "a limit, not written", res: result.Result{Valid: true, Limits: []result.Limit{{}}}, err: unwritten, want: exitFailed},
		{what: "corrupted, not valid", res: verified(ledger.Verdict{Corrupted: 1}), want: exitFailed},
		{what: "not written, not valid", err: unwritten, want: exitFailed},
		{what: "a signal, corrupted, not valid", res: verified(ledger.Verdict{Corrupted: 1}), signal: exitTerminated, want: exitTerminated},
		{what: "lost, a signal, not written, not valid", res: verified(ledger.Verdict{Lost: 1}), signal: exitTerminated, err: unwritten, want: exitLost},
	} {
		must.Match(t, c.want, exitCode(worse(judge(&c.res, c.signal, "text", true), c.err)), "%s: code", c.what)
	}
}

func TestThePagesTellWhichExitCodeWins(t *testing.T) {
	_, precedence, _ := strings.Cut(describe(&cobra.Command{Use: "exit-codes"}).Long, "\n\nIf several codes apply")
	precedence, unjudged, _ := strings.Cut("If several codes apply"+precedence, "\n\n")
	must.Match(t, true, strings.HasPrefix(unjudged, "kt report and kt collect do not judge"), "the help ends: %s", unjudged)
	for _, page := range []string{"../docs/result.md", "../ARCHITECTURE.md"} {
		text := must.Have(os.ReadFile(page))(t)
		must.True(t, strings.Contains(strings.Join(strings.Fields(string(text)), " "), precedence), "%s does not say: %s", page, precedence)
	}
}

func TestASignalEndsWhatIsLeftAndTheFirstIsTheExitCode(t *testing.T) {
	for _, tc := range []struct {
		name    string
		over    bool // the run
		by      []os.Signal
		code    int
		aborted int
	}{
		{"a reader that has gone is no second signal", false, []os.Signal{syscall.SIGPIPE, syscall.SIGPIPE, syscall.SIGPIPE}, exitUnread, 0},
		{"a reader that goes after a signal", false, []os.Signal{os.Interrupt, syscall.SIGPIPE}, exitInterrupted, 0},
		{"a signal after the run", true, []os.Signal{os.Interrupt}, exitOK, 1},
	} {
		aborted, said := 0, make(chan string, 9) // it is said on another goroutine
		s := newStopper(func() { aborted++ }, func(int) { t.Errorf("%s: kt exits at once", tc.name) }, func(text string) { said <- text })
		if s.begin(); tc.over {
			s.end()
		}
		for _, by := range tc.by {
			s.stop(by)
		}
		asked := false
		select {
		case <-s.asked:
			asked = true
		default:
		}
		must.Match(t, []int{tc.code, tc.aborted}, []int{s.code(), aborted}, "%s: code and aborts", tc.name)
		must.True(t, asked != tc.over && (len(said) == 0 || tc.code == exitInterrupted), "%s: the load ends: %v; kt says %d things", tc.name, asked, len(said))
	}
}

// The main goroutine hangs, wherever it is.
func TestASecondSignalEndsTheProcessWithinASecond(t *testing.T) {
	const never = -1
	for _, tc := range []struct {
		name  string
		stage func(*stopper)
		by    []os.Signal // nil in it: an order, or a key
		code  int         // never: the process is not ended
	}{
		{"while it connects", func(*stopper) {}, []os.Signal{os.Interrupt, os.Interrupt}, exitInterrupted},
		{"while it is asked to end by its service manager", func(*stopper) {}, []os.Signal{syscall.SIGTERM, syscall.SIGTERM}, exitTerminated},
		{"in the load", (*stopper).begin, []os.Signal{syscall.SIGTERM, os.Interrupt}, exitTerminated},
		{"by the keyboard", (*stopper).begin, []os.Signal{nil, nil}, exitFailed},
		{"on other hosts", func(s *stopper) { s.elsewhere(context.Background()) }, []os.Signal{os.Interrupt, os.Interrupt}, exitInterrupted},
		{"when the run is over", func(s *stopper) { s.begin(); s.end() }, []os.Signal{os.Interrupt, os.Interrupt}, exitInterrupted},
		{"after a key, when the run is over", func(s *stopper) { s.begin(); s.stop(nil); s.end() }, []os.Signal{os.Interrupt}, exitInterrupted},
		{"one signal alone", func(*stopper) {}, []os.Signal{os.Interrupt}, never},
		{"a reader that has gone", (*stopper).begin, []os.Signal{syscall.SIGPIPE, syscall.SIGPIPE}, never},
		{"orders before the load", func(*stopper) {}, []os.Signal{nil, nil}, never},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				code, began := never, time.Now()
				var took time.Duration
				s := newStopper(func() {}, func(c int) { code, took = c, time.Since(began) }, func(string) {})
				tc.stage(s)
				for _, by := range tc.by {
					s.stop(by)
				}
				<-time.After(time.Minute)
				synctest.Wait()
				must.True(t, code == tc.code && took < time.Second, "it ends with %d after %s, want %d", code, took, tc.code)
			})
		})
	}
}

// A screen of a run on other hosts goes on after the context.
func TestTheTerminalIsGivenBackBeforeTheProcessEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var screen context.Context
		given := false // back, when the process ends
		s := newStopper(func() {}, func(int) { given = screen.Err() != nil }, func(string) {})
		screen = s.elsewhere(t.Context())
		s.stop(os.Interrupt)
		s.stop(os.Interrupt)
		if synctest.Wait(); screen.Err() != nil {
			t.Error("the screen is over before the hosts had time to leave")
		}
		<-time.After(time.Minute)
		if synctest.Wait(); !given {
			t.Error("the screen was left as it was")
		}
	})
}
