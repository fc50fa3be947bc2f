package cmd

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/result/merge"
)

func newRunsOpen(env *Env) *cobra.Command {
	return command[none]{run: openPage}.of(env, &cobra.Command{
		Use:   "open [RUN]",
		Short: "Make the page of a run and show it in the browser",
		Long: `Make the HTML page of a run in the cache folder, write its path, and show it in the
browser if there is a desktop. Without RUN kt takes your newest run.`,
		Example:           `  kt runs open last~1`,
		Args:              oneFile,
		ValidArgsFunction: env.completeRunFiles,
	})
}

// openPage makes the page of a run and shows it.
func openPage(_ context.Context, env *Env, _ none, args []string) (*finding, error) {
	path, err := env.runFile(args)
	if err != nil {
		return nil, usageError(err)
	}
	to := env.pageOf(path)
	if to == "" {
		return nil, errors.New("there is no folder for the page: set XDG_CACHE_HOME, or use kt report --output " + html)
	}
	f, err := openRun(path)
	if err != nil {
		return nil, usageError(err)
	}
	defer f.Close()
	if err := env.makePage(f, path, format(html), to); err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintln(env.Stdout, to); err != nil {
		return nil, err
	}
	return nil, env.browse(to)
}

// makePage writes a page. It takes the place of an older one when it is complete.
func (e *Env) makePage(f *merge.File, path string, write report.Format, to string) error {
	res, err := merge.Read(f, f.Size)
	if err != nil {
		return usageError(fmt.Errorf("%s: %w", path, err))
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	err = input.Replace(to, 0o600, func(w io.Writer) error { return write(w, res, e.reportOptions(config.Look{}, false)) })
	if err != nil {
		return fmt.Errorf("page %s: %w", to, input.Cause(err))
	}
	return nil
}

// pageOf returns where the page of a run is made: kt/pages in $XDG_CACHE_HOME or ~/.cache. It is empty without a home folder.
// Of a run that kt does not keep, the name has a sum of its folder: another run may have the same name.
func (e *Env) pageOf(path string) string {
	dir := e.Getenv("XDG_CACHE_HOME")
	switch {
	case filepath.IsAbs(dir):
	case e.HomeDir != "":
		dir = filepath.Join(e.HomeDir, ".cache")
	default:
		return ""
	}
	name := runName(path)
	if at, err := filepath.Abs(filepath.Dir(path)); err == nil && at != e.runsFolder().Dir {
		name += fmt.Sprintf("-%08x", crc32.ChecksumIEEE([]byte(at)))
	}
	return filepath.Join(dir, "kt", "pages", name+"."+html)
}

// browse shows a page in the browser, where a person sits at a desktop.
func (e *Env) browse(path string) error {
	opener := "xdg-open"
	if runtime.GOOS == "darwin" {
		opener = "open"
	} else if e.Getenv("DISPLAY") == "" && e.Getenv("WAYLAND_DISPLAY") == "" {
		return nil
	}
	if _, err := exec.LookPath(opener); err != nil || !e.StdoutTTY {
		return nil
	}
	c := exec.Command(opener, path)
	if err := c.Start(); err != nil {
		return fmt.Errorf("%s %s: %w; open the page by hand", opener, path, err)
	}
	return c.Process.Release() // some stay until the browser is closed
}
