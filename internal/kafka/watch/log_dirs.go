package watch

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// LogDirs is a source of forecasts of when a log directory of a broker is full. It ends the load
// before that, or tells what becomes of the directories.
type LogDirs struct {
	engine.Events
	client  *kgo.Client
	brokers []int32
	unknown func()
	notify  func(text string)

	rarely  time.Duration // longest time between two questions
	patient time.Duration // for an answer
	asking  sync.WaitGroup
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
		Events: engine.Events{Off: !o.Tell}, client: client, unknown: o.Unknown, notify: o.Notify, rarely: logDirRarely, patient: logDirAnswer,
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
	l.asking.Go(func() {
		l.ask(ctx, now)
		if !l.room.known() && ctx.Err() == nil {
			l.unknown()
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

// Wait returns when no request is under way.
func (l *LogDirs) Wait() { l.asking.Wait() }

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
			l.notify(e.Text)
		}
	}
	l.Add(events...)
}
