package cluster

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// TEMPORARY until merge.Live

type partName struct {
	host    string
	process int
}

type liveSecond struct {
	windows []stats.Window
	sample  host.Sample
	whole   result.Snapshot
	hosts   map[string]*result.Snapshot
	why     string
}

type liveView struct {
	mu      sync.Mutex
	head    result.Header
	headers map[partName]*result.Header
	shown   int
	last    map[partName]int
	goneP   map[partName]bool
	ended   map[partName]bool
	seconds map[int]map[string]*stats.Phases
	whole   *result.Fold
	hosts   map[string]*result.Fold
	watch   *result.Watch
	sample  host.Sample
	why     string
}

func newLiveView(h result.Header, abortOn []string) *liveView {
	return &liveView{head: h, headers: map[partName]*result.Header{}, last: map[partName]int{}, goneP: map[partName]bool{}, ended: map[partName]bool{},
		seconds: map[int]map[string]*stats.Phases{}, whole: result.NewFold(h), hosts: map[string]*result.Fold{}, watch: result.NewWatch(abortOn)}
}

func (v *liveView) header(n partName) *result.Header {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.headers[n]
}

func (v *liveView) gone(r *remote) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range r.state.Parts {
		v.goneP[partName{r.peer.Name, i + 1}] = true
	}
}

func (v *liveView) add(n partName, line []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	var l result.Line
	if json.Unmarshal(line, &l) != nil {
		return
	}
	delete(v.goneP, n)
	switch {
	case l.Header != nil:
		v.headers[n] = l.Header
		v.last[n] = 0
	case l.Trailer != nil:
		v.ended[n] = true
	case l.Sample != nil:
		v.sample = *l.Sample
	case l.Window != nil:
		w := *l.Window
		w = w.Slim()
		second := int((w.End + time.Second - 1) / time.Second)
		v.last[n] = max(v.last[n], second)
		if second <= v.shown {
			w.Oldest = 0
			second = v.shown + 1
		}
		if from := time.Duration(v.shown) * time.Second; w.Start < from {
			w.Start, w.End = from, max(w.End, from)
		}
		if v.seconds[second] == nil {
			v.seconds[second] = map[string]*stats.Phases{}
		}
		if v.seconds[second][n.host] == nil {
			v.seconds[second][n.host] = new(stats.Phases)
		}
		v.seconds[second][n.host][stats.PhaseOf(w.Warmup)].Add(&w)
	}
}

func (v *liveView) next(elapsed time.Duration, final bool) (liveSecond, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	var windows []stats.Window
	if final {
		for _, second := range slices.Sorted(maps.Keys(v.seconds)) {
			windows = engine.MergeWindows(windows, v.take(second))
		}
		if len(windows) == 0 {
			return liveSecond{}, false
		}
	} else {
		second := v.shown + 1
		over := time.Duration(second) * time.Second
		if elapsed < over {
			return liveSecond{}, false
		}
		if elapsed < over+1500*time.Millisecond {
			for n, last := range v.last {
				if last < second && !v.goneP[n] && !v.ended[n] {
					return liveSecond{}, false
				}
			}
		}
		v.shown = second
		windows = v.take(second)
		if len(windows) == 0 {
			return liveSecond{}, false
		}
	}
	for _, w := range windows {
		v.whole.AddWindow(w)
	}
	v.whole.AddSample(v.sample)
	if v.why == "" {
		v.why = v.watch.Look(v.whole, windows)
	}
	s := v.state()
	s.windows = windows
	return s, true
}

func (v *liveView) take(second int) []stats.Window {
	var sum stats.Phases
	for _, name := range slices.Sorted(maps.Keys(v.seconds[second])) {
		if v.hosts[name] == nil {
			v.hosts[name] = result.NewHostFold(v.head)
		}
		for _, phase := range []int{stats.Warmup, stats.Measured} {
			if w := &v.seconds[second][name][phase]; !w.IsZero() {
				v.hosts[name].AddWindow(*w)
				sum[phase].Add(w)
			}
		}
	}
	delete(v.seconds, second)
	var windows []stats.Window
	for _, phase := range []int{stats.Warmup, stats.Measured} {
		if !sum[phase].IsZero() {
			windows = append(windows, sum[phase])
		}
	}
	return windows
}

func (v *liveView) state() liveSecond {
	s := liveSecond{whole: v.whole.Snapshot(), hosts: map[string]*result.Snapshot{}, why: v.why, sample: v.sample}
	for n, f := range v.hosts {
		one := f.Snapshot()
		s.hosts[n] = &one
	}
	return s
}

func (v *liveView) now() liveSecond {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.state()
}
