package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/cluster/wire"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

func TestAnOffsetIsWithinItsBoundWhateverTheWayThereAndBackTakes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	zero := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for range 10_000 {
		off := time.Duration(r.Int64N(int64(20*time.Second))) - 10*time.Second
		there, work, home := time.Duration(r.Int64N(int64(time.Second))), time.Duration(r.Int64N(int64(time.Second))), time.Duration(r.Int64N(int64(time.Second)))
		received := zero.Add(there)
		c := compare(zero, received.Add(off), received.Add(work+off), received.Add(work+home))
		if c.rtt != there+home {
			t.Fatalf("the round trip is %v, want %v", c.rtt, there+home)
		}
		if wrong := (c.offset - off).Abs(); wrong > c.bound() {
			t.Fatalf("the offset is wrong by %v, and the bound is %v", wrong, c.bound())
		}
	}
}

func TestTheBestPingIsTheOneWithTheShortestRoundTrip(t *testing.T) {
	now := time.Now()
	slow, fast := clock{offset: 1, rtt: 5, taken: now}, clock{offset: 2, rtt: 3, taken: now}
	for name, got := range map[string]clock{
		"the second": better(slow, fast), "the first": better(fast, slow), "none yet": better(clock{}, fast), "no other": better(fast, clock{}),
	} {
		if got != fast {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestADriftIsToldOnlyWhenItIsCertain(t *testing.T) {
	now := time.Now()
	for _, tc := range []struct {
		name          string
		before, after clock
		want          time.Duration
	}{
		{"never compared", clock{}, clock{}, 0},
		{"the same", clock{offset: 5, rtt: 2, taken: now}, clock{offset: 5, rtt: 2, taken: now}, 0},
		{"within the bounds", clock{offset: 5, rtt: 4, taken: now}, clock{offset: 9, rtt: 4, taken: now}, 0},
		{"beyond the bounds", clock{offset: 5, rtt: 4, taken: now}, clock{offset: 10, rtt: 4, taken: now}, 5},
		{"backwards", clock{offset: 5, rtt: 4, taken: now}, clock{offset: 0, rtt: 4, taken: now}, -5},
	} {
		l := &link{agreed: tc.before, clock: tc.after}
		if got := l.drift(); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

func second(from, to time.Duration, n int64) *Second {
	w := stats.Window{Start: from, End: to, Offered: n, Acknowledged: n, Partitions: map[int32]stats.Partition{1: {Records: n}}}
	w.Response.RecordN(time.Millisecond, n)
	w.SendDelay.RecordN(time.Millisecond, n)
	return &Second{Windows: []stats.Window{w}, Sample: host.Sample{At: to}}
}

func TestASlowStreamGetsMergedSecondsAndTheNewestOfAllElse(t *testing.T) {
	o := newOutbox()
	o.part(partStatus{Process: 1, State: partReady})
	o.part(partStatus{Process: 1, State: partRunning})
	for k := range 3 {
		o.second(1, second(time.Duration(k)*time.Second, time.Duration(k+1)*time.Second, 10))
		o.watched(host.Vitals{At: time.Duration(k+1) * time.Second})
	}
	warm := second(0, time.Second, 5)
	warm.Windows[0].Warmup = true
	o.second(1, warm)
	o.second(2, second(0, time.Second, 7))
	o.flag(fromAgent{Written: &written{Epoch: "E"}})
	got := o.take("E")
	if len(got) != 5 || got[0].Part == nil || got[0].Part.State != partRunning || got[1].Second == nil || got[3].Vitals == nil || got[4].Written == nil {
		t.Fatalf("told %+v", got)
	}
	windows := got[1].Second.Second.Windows
	if len(windows) != 2 || windows[0].Acknowledged != 30 || windows[0].End != 3*time.Second || windows[1].Acknowledged != 5 || !windows[1].Warmup {
		t.Errorf("the windows of process 1 are %+v", windows)
	}
	if w := windows[0]; len(w.Partitions) > 0 || w.SendDelay.Count() > 0 || w.Response.Count() != 30 {
		t.Errorf("the window is not slim: %+v", w)
	}
	if v := got[3].Vitals; v.Vitals.At != 3*time.Second || v.Passed != 2 {
		t.Errorf("the vitals are %+v", v)
	}
	if again := o.take("E"); len(again) > 0 {
		t.Errorf("told twice: %+v", again)
	}
	o.retell()
	if again := o.take("E"); len(again) != 2 || again[0].Part == nil || again[1].Written == nil {
		t.Errorf("a stream that is new is told %+v", again)
	}
}

// stuck is a stream whose Send hangs.
type stuck struct{ stream }

func (s *stuck) Send(ctx context.Context, _ wire.FrameType, _ []byte) error {
	<-ctx.Done()
	return ctx.Err()
}

func (s *stuck) Close() error { return nil }

func TestAProcessIsNeverHeldUpByAStreamThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutbox()
		ctx, cancel := context.WithCancel(t.Context())
		go o.deliver(ctx, &stuck{}, "E")
		began := time.Now()
		for k := range 1000 {
			o.second(1, second(time.Duration(k)*time.Second, time.Duration(k+1)*time.Second, 1))
			synctest.Wait()
		}
		if time.Since(began) > 0 {
			t.Errorf("it waited for %v", time.Since(began))
		}
		told := o.take("E")
		if w := told[0].Second.Second.Windows; len(w) != 1 || w[0].Acknowledged != 999 { // the first is on its way
			t.Errorf("what waits is %+v", w)
		}
		cancel()
	})
}

func TestWindowsOfManyProcessesMakeOneSecond(t *testing.T) {
	always := func(*view, int) bool { return true }
	never := func(*view, int) bool { return false }
	w := func(from, to float64, n int64) stats.Window {
		s := second(time.Duration(from*1e9), time.Duration(to*1e9), n)
		return s.Windows[0]
	}
	v := newView(result.Header{})
	v.add("a", 1, w(0, 1, 1), 1100*time.Millisecond)
	v.add("a", 2, w(0, 1, 2), 1100*time.Millisecond)
	v.add("b", 1, w(0, 1, 4), 1100*time.Millisecond)
	if _, ok := v.next(never, 2400*time.Millisecond); ok {
		t.Error("a second is shown before all have reported it")
	}
	if _, ok := v.next(always, 900*time.Millisecond); ok {
		t.Error("a second is shown before it is over")
	}
	if v.snapshot("a") != nil {
		t.Error("host a has a snapshot before its first second")
	}
	got, ok := v.next(always, 1100*time.Millisecond)
	if !ok || len(got) != 1 || got[0].Acknowledged != 7 || got[0].End != time.Second {
		t.Errorf("the first second is %+v", got)
	}
	if h := v.snapshot("a"); h.All.Acknowledged != 3 || h.At != time.Second {
		t.Errorf("host a has %d records until %v", h.All.Acknowledged, h.At)
	}
	v.add("a", 1, w(1, 2, 8), 2*time.Second)
	got, ok = v.next(never, time.Second*2+patience)
	if !ok || got[0].Acknowledged != 8 {
		t.Errorf("a second for which was waited long enough is %+v, %v", got, ok)
	}
	// Host b comes back with the windows of its absence.
	v.add("b", 1, w(1, 3, 16), 3*time.Second)
	late := w(0, 1, 32)
	late.Oldest = 900 * time.Millisecond
	v.add("b", 2, late, 3*time.Second)
	got, ok = v.next(always, 3*time.Second)
	if !ok || got[0].Oldest != 0 || len(got) != 1 || got[0].Acknowledged != 48 || got[0].Start != 2*time.Second || got[0].End != 3*time.Second {
		t.Errorf("late windows are shown as %+v", got)
	}
	v.add("a", 1, w(2, 3, 200), 4*time.Second)
	if got := v.take(4); len(got) != 1 || got[0].Acknowledged != 200 || got[0].End != got[0].Start {
		t.Errorf("what is late alone has a length: %+v", got)
	}
	v.add("a", 1, w(4, 4.3, 1), 5*time.Second)
	v.add("b", 1, w(4, 1e6, 64), 4*time.Second) // says what cannot be
	if got := v.rest(); len(got) != 1 || got[0].Acknowledged != 65 || len(v.rest()) > 0 {
		t.Errorf("the rest is %+v", got)
	}
	if s := v.observe(got, host.Sample{ProcessCPU: 2}, result.Live{InFlight: 3}).Snapshot; s.All.Acknowledged != 48 || s.InFlight != 3 || s.Sample.ProcessCPU != 2 {
		t.Errorf("the snapshot of the whole has %d records, %d requests", s.All.Acknowledged, s.InFlight)
	}
}

func TestTheOffersAddUpToThePlan(t *testing.T) {
	w := &world{t: t, hosts: map[string]*testHost{}}
	for hosts := 1; hosts <= 5; hosts++ {
		for processes := 1; processes <= 4; processes++ {
			o := w.order(nil)
			o.Processes, o.Plan.Producers = processes, 23
			o.Plan.Load.Records, o.Plan.Load.Duration = 1_000_003, 0
			for h := hosts; h > 0; h-- {
				o.Load = append(o.Load, Peer{Info: Info{Name: fmt.Sprintf("h%d", h)}})
			}
			o.Watch = []Peer{{Info: Info{Name: "broker"}}}
			links, err := o.offers()
			if err != nil {
				t.Fatal(err)
			}
			producers, records, makers := 0, int64(0), 0
			var names []string
			for _, l := range links {
				names = append(names, l.offer.Part.Host)
				if err := (&Limits{}).allow(&l.offer); err != nil {
					t.Errorf("%d × %d: %s would refuse: %v", hosts, processes, l.peer.Name, err)
				}
				for i, j := range l.offer.jobs() {
					producers += j.Plan.Producers
					for p := range j.Plan.Producers {
						pacer := j.Plan.Pacer(p)
						for _, ok := pacer.Next(); ok; _, ok = pacer.Next() {
							records++
						}
					}
					if j.CreateTopic {
						makers++
					}
					if j.Part.Process != i+1 || j.Part.Host != l.peer.Name || len(j.Part.Roster) != hosts+1 {
						t.Errorf("%d × %d: part %+v", hosts, processes, j.Part)
					}
				}
			}
			if producers != 23 || records != 1_000_003 || makers != 1 {
				t.Errorf("%d × %d: %d producers, %d records, %d make the topic", hosts, processes, producers, records, makers)
			}
			if !slices.IsSorted(names[:hosts]) || names[hosts] != "broker" {
				t.Errorf("the hosts are %q", names)
			}
		}
	}
}

func TestAHeaderThatIsTooLargeForAMessageTravelsWithoutItsPartitions(t *testing.T) {
	h := &result.Header{RunID: "R", Environment: result.Environment{Topic: result.Topic{Name: "t", Leaders: map[int32]int32{}}}}
	if shorten(h) != h {
		t.Error("a small one is changed")
	}
	for p := range int32(100_000) {
		h.Environment.Topic.Leaders[p] = 1
	}
	if got := shorten(h); got == nil || got == h || len(got.Environment.Topic.Leaders) > 0 || got.Environment.Topic.Name != "t" || len(h.Environment.Topic.Leaders) == 0 {
		t.Errorf("a large one becomes %+v", got)
	}
	h.Args = []string{string(make([]byte, maxHeader))}
	if got := shorten(h); got != nil {
		t.Error("one that does not fit at all travels")
	}
}

func TestALargeMessageIsPackedAndReadsTheSame(t *testing.T) {
	large := strings.Repeat("abc ", packAbove)
	for _, text := range []string{"small", large} {
		s := &keeping{}
		if err := send(t.Context(), s, fromAgent{Refused: &refused{Text: text}}); err != nil {
			t.Fatal(err)
		}
		m, err := readFromAgent(s.typ, s.b)
		if err != nil || m.Refused.Text != clean(text, maxText) {
			t.Errorf("%.20q reads as %+v, %v", text, m, err)
		}
		if (s.typ == framePacked) != (text == large) || len(s.b) > packAbove {
			t.Errorf("%.20q was sent as frame type %d, %d bytes", text, s.typ, len(s.b))
		}
	}
	for _, typ := range []wire.FrameType{0, frameChunk, 9} {
		if _, err := unpack(typ, []byte("{}"), nil); !errors.Is(err, errProtocol) {
			t.Errorf("frame type %d: %v", typ, err)
		}
	}
}

func TestAMessageIsOnlyUnpackedAsFarAsItsKindMayBe(t *testing.T) {
	text := func(begins string, length int) []byte {
		return append([]byte(begins), bytes.Repeat([]byte("x"), length-len(begins))...)
	}
	for _, tc := range []struct {
		begins string
		large  map[string]int
		most   int
	}{
		{`{"offer":`, largeToAgent, maxOffer},
		{`{"open":`, largeToAgent, maxMessage},
		{`{"second":`, largeToAgent, maxMessage}, // no coordinator sends one
		{`{ "offer":`, largeToAgent, maxMessage},
		{`{"offer`, largeToAgent, maxMessage},
		{``, largeToAgent, maxMessage},
		{`{"second":`, largeFromAgent, 4 << 20},
		{`{"part":`, largeFromAgent, maxHeader + maxMessage},
		{`{"welcome":`, largeFromAgent, maxMessage},
	} {
		for typ, pack := range map[wire.FrameType]func([]byte) []byte{frameJSON: bytes.Clone, framePacked: pack} {
			whole := text(tc.begins, tc.most)
			if got, err := unpack(typ, pack(whole), tc.large); err != nil || !bytes.Equal(got, whole) {
				t.Errorf("%s, frame type %d: what just fits gives %d bytes of %d, %v", tc.begins, typ, len(got), tc.most, err)
			}
			if _, err := unpack(typ, pack(text(tc.begins, tc.most+1)), tc.large); !errors.Is(err, errProtocol) {
				t.Errorf("%s, frame type %d: %d bytes: %v", tc.begins, typ, tc.most+1, err)
			}
		}
	}
}

// The memory for refusing a message depends on the bound of its kind. It does not depend on the
// unpacked size or on the memory of the decoded JSON.
func TestASmallMessageTakesLittleMemory(t *testing.T) {
	many := func(begins, one string, size int) []byte {
		return pack([]byte(begins + strings.Repeat(one, size/len(one))))
	}
	for name, tc := range map[string]struct {
		packed []byte
		refuse func(*testing.T, []byte)
	}{
		"an offer of processes": {many(`{"offer":{"shares":[`, "{},", 8<<20), refuseToAgent},
		"an offer of hosts":     {many(`{"offer":{"part":{"roster":[`, "0,", 8<<20), refuseToAgent},
		"an order":              {many(`{"open":{"processes":[`, "1,", 8<<20), refuseToAgent},
		"windows of nothing":    {many(`{"second":{"second":{"windows":[`, "0,", 8<<20), refuseFromAgent},
		"windows":               {many(`{"second":{"second":{"windows":[`, "{},", 3<<20), refuseFromAgent},
		"files":                 {many(`{"files":{"files":[`, "{},", 8<<20), refuseFromAgent},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		tc.refuse(t, tc.packed)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 40<<20 {
			t.Errorf("%s took %d MiB", name, took>>20)
		}
	}
}

func refuseToAgent(t *testing.T, packed []byte) {
	t.Helper()
	text, err := unpack(framePacked, packed, largeToAgent)
	if err == nil {
		_, err = decodeToAgent(text)
	}
	if !errors.Is(err, errProtocol) {
		t.Errorf("a message of %d bytes, packed: %v", len(packed), err)
	}
}

func refuseFromAgent(t *testing.T, packed []byte) {
	t.Helper()
	if _, err := readFromAgent(framePacked, packed); !errors.Is(err, errProtocol) {
		t.Errorf("a message of %d bytes, packed: %v", len(packed), err)
	}
}

type keeping struct {
	stream
	typ wire.FrameType
	b   []byte
}

func (k *keeping) Send(_ context.Context, typ wire.FrameType, b []byte) error {
	k.typ, k.b = typ, b
	return nil
}

// FuzzUnpack checks that unpacking never panics and keeps the bounds of messages.
func FuzzUnpack(f *testing.F) {
	f.Add(pack([]byte("{}")))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if text, err := unpack(framePacked, b, largeToAgent); err == nil && len(text) > maxOffer {
			t.Errorf("%d bytes", len(text))
		}
	})
}
