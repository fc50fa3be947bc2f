package cmd

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/load"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/run"
)

// A notice has a line of its own, and after the wait nothing more is written.
func TestAWaitShowsItsTimeOnATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		o := &output{env: &Env{StderrTTY: true, Stderr: &said, Now: time.Now}, load: &load.Load{Run: new(config.Run)}}
		done := o.prepare()
		time.Sleep(3500 * time.Millisecond)
		o.notify(run.Notice{Text: "created topic orders"})
		time.Sleep(time.Second)
		done()
		done()
		time.Sleep(time.Minute)
		lines := strings.Split(strings.ReplaceAll(said.String(), restart, "|"), "\n")
		if len(lines) != 2 || !strings.HasSuffix(lines[0], "3s|kt: created topic orders") || !strings.HasSuffix(lines[1], "4s|") {
			t.Errorf("%q", lines)
		}
		o.env.StderrTTY = false
		o.prepare()()
		must.Match(t, 1, strings.Count(said.String(), "\n"), "%q without a terminal", said.String())
	})
}
