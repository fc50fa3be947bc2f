package load

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// Child is a process of this program.
type Child struct {
	*exec.Cmd
	In   io.WriteCloser
	Out  io.ReadCloser
	said tail // on its standard error
}

// Spawn starts this program once more, with one of its hidden commands.
func Spawn(ctx context.Context, command ...string) (*Child, error) {
	path := "/proc/self/exe" // on Linux, even when another version has taken the place of the file
	if _, err := os.Stat(path); err != nil {
		if path, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	c := &Child{Cmd: exec.CommandContext(ctx, path, command...)}
	c.Args[0] = "kt"                                    // whatever the path is
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C on this terminal is not the child's
	c.Stderr = &c.said
	var err error
	if c.In, err = c.StdinPipe(); err == nil {
		c.Out, err = c.StdoutPipe()
	}
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start %s %s: %w", path, strings.Join(command, " "), err)
	}
	return c, nil
}

// End waits for the child, and returns its error with the last line that it said.
func (c *Child) End() error {
	err := c.Wait()
	lines := strings.Split(strings.TrimSpace(string(c.said)), "\n")
	if text := strings.TrimSpace(lines[len(lines)-1]); err != nil && text != "" {
		err = fmt.Errorf("%w: %s", err, text)
	}
	return err
}

// tail keeps the end of a process's output.
type tail []byte

func (t *tail) Write(b []byte) (int, error) {
	const most = 4 << 10
	*t = append(*t, b...)
	*t = (*t)[max(0, len(*t)-most):]
	return len(b), nil
}
