package report

import (
	"fmt"
	"time"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// WatchDocument is how busy a host is that makes no load.
type WatchDocument struct {
	Schema  int          `json:"schema"`
	Host    string       `json:"host"`
	Now     *result.Busy `json:"last_second"`
	Overall *result.Busy `json:"overall"`
}

// WatchLine returns the last second as a line.
func WatchLine(d *WatchDocument) string {
	heap, gc := jvm(d.Now.Brokers)
	return fmt.Sprintf("%s  CPU %s  dirty %s  disk %s  network %s  heap %s  GC %s", theme.Clock(time.Duration(d.Overall.Seconds*1e9)),
		theme.Percent(d.Now.CPUShare), theme.Bytes(d.Now.DirtyBytesMax), disk(d.Now.Disks), network(d.Now.Networks), heap, gc)
}

// WatchDoc returns a table of the last second and of the whole time.
func WatchDoc(d *WatchDocument) *doc.Document {
	all := &doc.Document{Command: "kt watch", Subject: d.Host}
	if d.Overall == nil {
		return all
	}
	whole := "all " + theme.Duration(time.Duration(d.Overall.Seconds*1e9).Round(time.Second))
	t := busy(&result.Result{Hosts: []result.HostRow{{Role: "last second", Busy: d.Now}, {Role: whole, Busy: d.Overall}}})
	t.Columns[0].Head, t.Columns[1] = "", doc.Column{Head: "time", Kind: doc.Words}
	all.Sections = []doc.Section{{ID: "busy", Blocks: []doc.Block{t}}}
	if len(d.Overall.Brokers) == 0 {
		all.Answer = []doc.Note{{Text: "no Kafka broker runs here, or kt cannot see it: run kt watch as root, outside of containers", Tone: doc.Warn}}
	}
	return all
}
