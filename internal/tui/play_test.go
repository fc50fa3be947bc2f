package tui

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/must"
)

func TestAReplayPassesAtItsSpeedAndNotWhileItIsPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &player{speed: 1, o: PlayOptions{Most: 1000}}
		begin := time.Now()
		step := func(until, want time.Duration) {
			t.Helper()
			if from := time.Now(); !p.wait(t.Context(), until) || time.Since(from) != want {
				t.Errorf("it took %v from %v until %v of the run, want %v", time.Since(from), from.Sub(begin), until, want)
			}
		}
		step(time.Second, time.Second)
		p.faster(true)
		p.faster(true)
		step(5*time.Second, time.Second)
		p.faster(false)
		p.pause(true)
		time.AfterFunc(10*time.Second+time.Millisecond, func() { p.pause(false) })
		step(7*time.Second, 11*time.Second) // from the tick after 10 s on

		ctx, leave := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, leave)
		must.True(t, !p.wait(ctx, time.Hour), "it goes on although the user has left")
	})
}

func TestTheSpeedOfAReplayHasBounds(t *testing.T) {
	p := &player{speed: 1, o: PlayOptions{Most: 1000}}
	for range 100 {
		p.faster(true)
	}
	must.Match(t, p.o.Most, p.speed, "the highest speed")
	for range 100 {
		p.faster(false)
	}
	must.True(t, p.speed > 0, "the lowest speed is %v", p.speed)
}
