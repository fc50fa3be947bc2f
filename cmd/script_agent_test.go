package cmd

import (
	"bufio"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

// agent starts a kt agent on a port of its own, which is in $NAME afterwards, and ends it
// with the script: agent NAME [FLAG…]. Its name is NAME in lower case, and its results
// are in a folder of that name.
func agent(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: agent NAME [FLAG…]")
	}
	name := strings.ToLower(args[0])
	path, err := exec.LookPath("kt")
	ts.Check(err)
	c := exec.Command(path, append([]string{"agent", "--bind", "127.0.0.1:0", "--name", name, "--role", "client", "--results", ts.MkAbs(name)}, args[1:]...)...)
	c.Dir = ts.MkAbs(".")
	for _, name := range []string{"XDG_STATE_HOME", "XDG_CONFIG_HOME", "HOME", "PATH", "TMPDIR"} {
		c.Env = append(c.Env, name+"="+ts.Getenv(name))
	}
	said, err := c.StderrPipe()
	ts.Check(err)
	ts.Check(c.Start())
	lines := bufio.NewScanner(said)
	open := false
	for lines.Scan() {
		open = open || strings.Contains(lines.Text(), "there is no key: every user of this host may use this agent")
		if _, rest, ok := strings.Cut(lines.Text(), " listens on "); ok {
			addr, _, _ := strings.Cut(rest, ";")
			ts.Setenv(args[0], addr)
			break
		}
	}
	if keyed := slices.Contains(args, "--key-file"); open == keyed {
		ts.Fatalf("agent %s has a key: %v, and says that it serves every user: %v", name, keyed, open)
	}
	var told []string
	drained := make(chan struct{})
	go func() { // until the agent has ended
		defer close(drained)
		for lines.Scan() {
			told = append(told, name+": "+lines.Text())
		}
	}()
	ts.Defer(func() {
		_ = c.Process.Signal(syscall.SIGTERM) // it may have gone already
		<-drained
		_ = c.Wait()
		ts.Logf("%s", strings.Join(told, "\n"))
	})
	if ts.Getenv(args[0]) == "" {
		ts.Fatalf("agent %s did not say where it listens", name)
	}
}
