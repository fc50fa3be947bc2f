package watch

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// LogDirs is a source of forecasts of when a log directory of a broker is full. It ends the load before that, or tells what
// becomes of the directories.
type LogDirs struct {
	engine.Events
	LogDirOptions
	client  *kgo.Client
	brokers []int32

	rarely  time.Duration // longest time between two questions
	patient time.Duration // for an answer
	stop    chan struct{}

	room rooms // of the loop alone
}

var _ engine.Source = (*LogDirs)(nil)

// Brokers are asked gently: they look at each disk. The less time is left, the more often.
const (
	logDirRarely = 5 * time.Second
	logDirOften  = time.Second // at first, and where the directories are to be filled
	logDirMost   = 300 * time.Millisecond
	logDirShare  = 8 // times in what is left
	logDirAnswer = 2 * time.Second
)

// LogDirOptions are what a load wants to know of log directories.
type LogDirOptions struct {
	Load    plan.Load
	Tell    bool              // emit events; false: only end the load
	Unknown func()            // called once, if no broker tells how large its disks are
	Notify  func(text string) // called for each event
}

// NewLogDirs returns the source for the brokers of a cluster.
func NewLogDirs(c *kafka.Cluster, o LogDirOptions) (*LogDirs, error) {
	client, err := c.Client(kgo.ClientID("kt-disks"), kgo.DialTimeout(logDirAnswer), kgo.RequestRetries(0), kgo.DisableClientMetrics())
	if err != nil {
		return nil, err
	}
	l := &LogDirs{
		Events: engine.Events{Off: !o.Tell}, LogDirOptions: o, client: client, rarely: logDirRarely, patient: logDirAnswer,
		stop: make(chan struct{}), room: newRooms(o.Load),
	}
	if o.Load.UntilFull {
		l.rarely = logDirOften
	}
	for _, b := range c.Info.Brokers {
		l.brokers = append(l.brokers, b.ID)
	}
	return l, nil
}

// Full is closed when the load has to end.
func (l *LogDirs) Full() <-chan struct{} { return l.stop }

// Start begins to ask the brokers.
func (l *LogDirs) Start(ctx context.Context, now func() time.Duration) {
	l.Go(func() {
		l.ask(ctx, now)
		if len(l.room.dirs) == 0 && ctx.Err() == nil {
			l.Unknown()
		}
		next := time.NewTimer(logDirOften)
		defer next.Stop()
		for over := false; ; {
			select {
			case <-ctx.Done():
				return
			case <-next.C:
			}
			l.ask(ctx, now)
			if !over && l.room.over(now()) {
				over = true
				close(l.stop)
			}
			next.Reset(l.room.wait(l.rarely))
		}
	})
}

// Close frees the connections.
func (l *LogDirs) Close() { l.client.Close() }

// ask asks all brokers at once for their log directories, without their partitions.
func (l *LogDirs) ask(ctx context.Context, now func() time.Duration) {
	answering, cancel := context.WithTimeout(ctx, l.patient)
	defer cancel()
	answers := make([]*kmsg.DescribeLogDirsResponse, len(l.brokers))
	var asked sync.WaitGroup
	for i, id := range l.brokers {
		asked.Go(func() {
			req := kmsg.NewPtrDescribeLogDirsRequest()
			req.Topics = []kmsg.DescribeLogDirsRequestTopic{}
			if resp, err := l.client.Broker(int(id)).Request(answering, req); err == nil {
				answers[i] = resp.(*kmsg.DescribeLogDirsResponse)
			}
		})
	}
	asked.Wait()
	if ctx.Err() != nil {
		return // brokers had no time to answer
	}
	at := now()
	for i, id := range l.brokers {
		if answers[i] == nil {
			l.emit(l.room.silent(id, at)...)
			continue
		}
		for _, d := range answers[i].Dirs {
			failed := d.ErrorCode == kerr.KafkaStorageError.Code
			l.emit(l.room.see(id, d.Dir, usage{at: at, total: d.TotalBytes, usable: d.UsableBytes, failed: failed})...)
		}
	}
}

func (l *LogDirs) emit(events ...stats.Event) {
	for _, e := range events {
		if !l.Off {
			l.Notify(e.Text)
		}
	}
	l.Add(events...)
}

const (
	forecastOver = 60 // readings that a forecast is made of, at most
	forecastFrom = 3  // and at least

	// forecastFar is how far ahead a forecast is told of a load whose length is not known.
	forecastFar = 24 * time.Hour

	// fullShare is the share from which on a directory counts as full.
	fullShare = 0.999

	// afterFull is how long a load without another end goes on after the first directory was full.
	afterFull = time.Minute
)

type rooms struct {
	limit float64       // share at which the load ends; 0: it goes on
	until time.Duration // length of the load; 0: not known
	after time.Duration // from the first full directory to the end of the load; 0: it does not end
	dirs  map[roomKey]*room

	reached bool          // the limit, by some directory
	full    time.Duration // when the first directory was full; 0: none was
}

type roomKey struct {
	broker int32
	path   string
}

type room struct {
	limit float64 // that of rooms, or a higher one if the directory was beyond that already
	seen  []usage // the newest, in order
	told  time.Duration
	state stats.EventKind // of its last state that was told; "": none
}

type usage struct {
	at            time.Duration
	total, usable int64 // bytes; below 1: not known
	failed        bool
}

func (u usage) share() float64 { return 1 - float64(u.usable)/float64(u.total) }

func newRooms(l plan.Load) rooms {
	r := rooms{limit: l.StopAtDisk, until: l.Duration.Std(), dirs: make(map[roomKey]*room)}
	if l.UntilFull && l.Duration == 0 && l.Records == 0 {
		r.after = afterFull
	}
	return r
}

// wait returns the time until the next reading, at most rarely.
func (r *rooms) wait(rarely time.Duration) time.Duration {
	for _, d := range r.dirs {
		left, grows := d.left(d.end())
		if len(d.seen) < forecastFrom {
			left = logDirShare * logDirOften
		} else if !grows {
			continue
		}
		rarely = min(rarely, max(logDirMost, left/logDirShare))
	}
	return rarely
}

func (r *rooms) over(now time.Duration) bool {
	return r.reached || r.after > 0 && r.full > 0 && now >= r.full+r.after
}

func (r *rooms) see(broker int32, path string, u usage) (events []stats.Event) {
	key := roomKey{broker, path}
	d := r.dirs[key]
	switch {
	case d != nil && u.failed:
		return r.become(d, key, stats.LogDirFailed, u.at, "has failed")
	case u.failed || u.total < 1 || u.usable < 0:
		return nil
	case d == nil:
		d = &room{limit: r.limit}
		r.dirs[key] = d
		if share := u.share(); r.limit > 0 && share >= r.limit {
			d.limit = (1 + share) / 2
			events = append(events, key.event(stats.LogDirForecast, u.at, fmt.Sprintf("is %s full before the load; the load ends at %s", theme.Percent(share), theme.Percent(d.limit))))
		}
	}
	if d.seen = append(d.seen, u); len(d.seen) > forecastOver {
		d.seen = append(d.seen[:0], d.seen[1:]...)
	}
	switch share := u.share(); {
	case d.limit > 0 && share >= d.limit:
		if !r.reached {
			events = append(events, r.become(d, key, stats.LogDirFull, u.at, fmt.Sprintf("is %s full: the load ends", theme.Percent(share)))...)
		}
		r.reached = true
	case share >= fullShare:
		events = append(events, r.become(d, key, stats.LogDirFull, u.at, "is full")...)
	default:
		d.state = ""
		events = append(events, r.forecast(d, key)...)
	}
	return events
}

// silent notes a broker that does not answer: brokers end when their directories are full.
func (r *rooms) silent(broker int32, at time.Duration) (events []stats.Event) {
	for key, d := range r.dirs {
		if left, ok := d.left(1); key.broker == broker && ok && d.last().at+left <= at {
			events = append(events, r.become(d, key, stats.LogDirFailed, at, "is full by its growth, and the broker does not answer")...)
		}
	}
	return events
}

func (r *rooms) become(d *room, key roomKey, state stats.EventKind, at time.Duration, text string) []stats.Event {
	if r.full == 0 && d.limit == 0 {
		r.full = at
	}
	if d.state == state || d.state == stats.LogDirFailed {
		return nil
	}
	d.state = state
	return []stats.Event{key.event(state, at, text)}
}

// forecast returns the forecast of a directory if it is the first, or half of the time told before is left.
func (r *rooms) forecast(d *room, key roomKey) []stats.Event {
	left, ok := d.left(d.end())
	now := d.last().at
	switch {
	case !ok || len(d.seen) < forecastFrom || d.told > 0 && (left > d.told/2 || left < time.Second):
		return nil
	case r.until > 0 && now+left > r.until || left > forecastFar:
		return nil
	}
	d.told = max(left, 1)
	text := "full in " + span(left)
	if d.limit > 0 {
		text = fmt.Sprintf("%s full in %s: the load ends then", theme.Percent(d.limit), span(left))
	}
	return []stats.Event{key.event(stats.LogDirForecast, now, text)}
}

func (d *room) end() float64 { return cmp.Or(d.limit, 1) }

func (d *room) last() usage { return d.seen[len(d.seen)-1] }

func (d *room) left(share float64) (time.Duration, bool) {
	first, last := d.seen[0], d.last()
	grown, took := float64(first.usable-last.usable), last.at-first.at
	if grown <= 0 || took <= 0 {
		return 0, false
	}
	left := max(0, float64(last.usable)-(1-share)*float64(last.total)) / grown
	return time.Duration(min(left*float64(took), float64(365*forecastFar))), true
}

func (k roomKey) event(kind stats.EventKind, at time.Duration, text string) stats.Event {
	return stats.Event{At: at, Kind: kind, Broker: k.broker, To: -1, Text: fmt.Sprintf("log directory %s of broker %d %s", k.path, k.broker, text)}
}

func span(d time.Duration) string {
	m := int64(d.Round(time.Minute) / time.Minute)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int64(d.Round(time.Second)/time.Second))
	case m < 60:
		return fmt.Sprintf("%d min", m)
	}
	return strings.TrimSuffix(fmt.Sprintf("%d h %d min", m/60, m%60), " 0 min")
}
