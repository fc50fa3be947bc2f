package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/merge"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/tui"
)

// player shows a run file on the screen.
type player struct {
	env    *Env
	flags  *config.Report
	frames frames
	screen *tui.Screen // nil until the first second
	over   chan error  // the screen has ended

	at time.Duration // of the run

	mu     sync.Mutex // guards the rest
	speed  float64
	paused bool
}

// hasSeconds returns an error if a file has no seconds of a run for a flag that needs them.
func hasSeconds(f *merge.File, path, flag string) error {
	if !f.IsPage() {
		return nil
	}
	return fmt.Errorf("%s: a page has the result of a run, and %s needs its seconds: name its run file (.ktr)", path, flag)
}

// playRun shows a run as it was seen, until the user leaves.
func playRun(ctx context.Context, env *Env, f *merge.File, path string, flags *config.Report) error {
	if _, ok := env.screen(); !ok {
		return usageError(errors.New("--play: there is no terminal to show the run on; without --play kt writes its result"))
	}
	if err := hasSeconds(f, path, "--play"); err != nil {
		return usageError(err)
	}
	if f.IsCollection() {
		return usageError(fmt.Errorf("%s: it holds the runs of several processes, and --play shows that of one: name its run file", path))
	}
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	p := &player{env: env, flags: flags, speed: flags.Speed, over: make(chan error, 1), frames: frames{env: env}}
	fold, err := result.Play(io.NewSectionReader(f, 0, f.Size), func(fold *result.Fold, windows []stats.Window) bool {
		if p.screen == nil {
			p.open(ctx, leave, fold)
		}
		s := fold.Snapshot()
		s.Stage = result.WarmingUp
		if !windows[len(windows)-1].Warmup {
			s.Stage = result.Running
		}
		if p.wait(ctx, s.At) {
			p.screen.Observe(run.Second{Windows: windows, Snapshot: s})
		}
		return ctx.Err() == nil
	})
	if p.screen == nil {
		if err == nil {
			err = errors.New("it has no whole second of a load, so there is nothing to play")
		}
		return usageError(fmt.Errorf("%s: %w", path, err))
	}
	if err == nil && ctx.Err() == nil {
		s := fold.Snapshot()
		s.Stage = result.Finished
		s.CutOff = fold.Result().Ended == result.CutOff
		p.screen.Observe(run.Second{Snapshot: s})
	}
	if err != nil { // the file is damaged here
		p.screen.Quit()
	}
	err = errors.Join(err, <-p.over)
	p.frames.tell()
	return err
}

// open opens the screen. leave is called when it has ended.
func (p *player) open(ctx context.Context, leave func(), fold *result.Fold) {
	h := fold.Result().Header
	header := screenHeader(&h, nil)
	header.Replay = true
	p.frames.name = header.Command
	w, _ := p.env.screen()
	options := tui.Options{Theme: p.env.screenTheme(w, p.flags.Look), Now: p.env.Now, Faster: p.faster, Pause: p.pause, Save: p.frames.save}
	if p.flags.Theme == "auto" {
		options.Background = func(bool) {}
	}
	p.screen = tui.NewScreen(ctx, tui.NewModel(header, options), nil, w)
	go func() {
		p.over <- p.screen.Run(ctx)
		leave()
	}()
}

// wait waits until a moment of the run, and reports whether it came.
func (p *player) wait(ctx context.Context, until time.Duration) bool {
	const tick = 20 * time.Millisecond
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for ; p.at < until; p.at += p.pass(tick) {
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
	}
	return true
}

// pass returns the time of the run that passes in a time of the replay.
func (p *player) pass(d time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paused {
		return 0
	}
	return time.Duration(float64(d) * p.speed)
}

func (p *player) pause(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused = on
}

// faster doubles the speed, or halves it.
func (p *player) faster(up bool) (note string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.speed /= 2; up {
		p.speed *= 4
	}
	p.speed = min(max(p.speed, 1./16), config.MaxSpeed)
	return fmt.Sprintf("speed %gx", p.speed)
}
