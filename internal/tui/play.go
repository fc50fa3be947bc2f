package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/stats"
)

// PlayOptions are how a run is shown again.
type PlayOptions struct {
	Options
	Out    io.Writer
	Header func(h result.Header) Header
	Speed  float64 // times as fast as the run was
	Most   float64 // the highest speed
}

// player shows a run file on the screen.
type player struct {
	o      PlayOptions
	screen *Screen    // nil until the first second
	over   chan error // the screen has ended
	at     time.Duration

	mu     sync.Mutex // guards the rest
	speed  float64
	paused bool
}

// Play shows the run of a file as it was seen, until the user leaves. A file without a whole second is a *result.MisfitError.
func Play(ctx context.Context, file io.Reader, o PlayOptions) error {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	p := &player{o: o, speed: o.Speed, over: make(chan error, 1)}
	fold, err := result.Replay(file, func(fold *result.Fold, windows []stats.Window) bool {
		if p.screen == nil {
			p.open(ctx, leave, fold.Result().Header)
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
		return &result.MisfitError{Err: err}
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
	return errors.Join(err, <-p.over)
}

// open opens the screen. leave is called when it has ended.
func (p *player) open(ctx context.Context, leave func(), h result.Header) {
	header := p.o.Header(h)
	header.Replay = true
	p.o.Faster, p.o.Pause = p.faster, p.pause
	p.screen = NewScreen(ctx, NewModel(header, p.o.Options), nil, p.o.Out)
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
	p.speed = min(max(p.speed, 1./16), p.o.Most)
	return fmt.Sprintf("speed %gx", p.speed)
}

// Frames saves frames of the screen as text files in the current folder, where a user finds
// them to send them on.
type Frames struct {
	Name string // of the command
	Now  func() time.Time

	mu    sync.Mutex // guards saved
	saved []string   // full paths
}

// Save writes a frame to a new file, and returns a note for the footer.
func (f *Frames) Save(frame string) (note string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	stem, err := filepath.Abs(fmt.Sprintf("kt-%s-%s", f.Name, f.Now().UTC().Format("20060102-150405")))
	path := stem + ".txt"
	var file *os.File
	for n := 2; err == nil; n++ {
		if file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644); !errors.Is(err, fs.ErrExist) || n == 100 {
			break
		}
		path, err = fmt.Sprintf("%s-%d.txt", stem, n), nil
	}
	if err == nil {
		_, err = file.WriteString(frame + "\n")
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		return fmt.Sprintf("%s is not saved: %v", filepath.Base(path), input.Cause(err))
	}
	f.saved = append(f.saved, path)
	return "saved as " + filepath.Base(path)
}

// Saved returns the full paths of the files since the last call.
func (f *Frames) Saved() (paths []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	paths, f.saved = f.saved, nil
	return paths
}
