package watch

import (
	"context"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/stats"
)

// RecordDeleter deletes the records that all readers have read, so that the embedded
// cluster's memory holds the unread ones and little more.
type RecordDeleter struct {
	embedded *kafka.Embedded
	at       *kafka.Positions
	deleting sync.WaitGroup
}

var _ engine.Source = (*RecordDeleter)(nil)

// NewRecordDeleter returns the one for readers that are at these positions.
func NewRecordDeleter(e *kafka.Embedded, at *kafka.Positions) *RecordDeleter {
	return &RecordDeleter{embedded: e, at: at}
}

// deleteEvery is the time between two deletions: at 50,000 records of 512 bytes a second, 6 MiB
// come in between.
const deleteEvery = 250 * time.Millisecond

// Start begins to delete.
func (d *RecordDeleter) Start(ctx context.Context, _ func() time.Duration) {
	d.deleting.Go(func() { engine.Every(ctx, deleteEvery, d.deleteRead) })
}

// Wait returns when deleting is over.
func (d *RecordDeleter) Wait() { d.deleting.Wait() }

func (d *RecordDeleter) deleteRead() {
	d.at.Layout.Each(func(topic string, partition, number int32) {
		read := d.at.Groups[0].At(number).Next.Load()
		for g := range d.at.Groups {
			read = min(read, d.at.Groups[g].At(number).Next.Load())
		}
		d.embedded.DeleteRecords(topic, partition, read)
	})
}

// Take returns an empty window: deleting is no part of the load.
func (d *RecordDeleter) Take() stats.Window { return stats.Window{} }
