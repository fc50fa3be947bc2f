package cmd

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/host/watch"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/result/merge"
	"github.com/kt-bench/kt/internal/theme"
)

func newWatch(env *Env) *cobra.Command {
	return command[*config.Watch]{flags: config.NewWatch, values: map[string][]string{"output": config.WatchOutputs}, run: watchHost, signals: true}.of(env, &cobra.Command{
		Use:   "watch [flags]",
		Short: "Watch this host and its Kafka brokers, without a load",
	})
}

// watchHost samples this host once a second until ctx ends.
func watchHost(ctx context.Context, env *Env, w *config.Watch, _ []string) (*finding, error) {
	name, err := os.Hostname()
	seen, sum := report.WatchDocument{Schema: 1, Host: name}, new(merge.BusySum)
	watcher, begun, tick := watch.New(host.System()), env.Now(), time.NewTicker(time.Second)
	defer tick.Stop()
	screen, tty := env.screen()
	if tty = tty && w.Output == "text"; tty {
		_, _ = io.WriteString(screen, "\x1b[?1049h") // the alternate screen, until the end
	}
	for err == nil && ctx.Err() == nil {
		select {
		case <-ctx.Done():
			continue
		case <-tick.C:
		}
		v, second := watcher.Sample(env.Now().Sub(begun)), new(merge.BusySum)
		second.Add(&v)
		sum.Add(&v)
		seen.Now, seen.Overall = second.Result(), sum.Result()
		switch {
		case w.Output == "jsonl":
			err = theme.JSON(env.Stdout, seen, "")
		case tty:
			_, _ = io.WriteString(screen, "\x1b[H\x1b[J")
			err = report.Write(screen, "text", report.WatchDoc(&seen), nil, report.Options{Theme: env.screenTheme(screen, w.Look), Width: terminalWidth(screen, true)})
		case w.Output == "text":
			env.line(report.WatchLine(&seen))
		}
	}
	if tty {
		_, _ = io.WriteString(screen, "\x1b[?1049l")
	}
	if err != nil || w.Output == "jsonl" {
		return nil, err
	}
	return found(report.WatchDoc(&seen), seen), nil
}
