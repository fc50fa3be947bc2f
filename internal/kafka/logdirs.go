package kafka

import (
	"context"
	"fmt"
	"net"

	"github.com/twmb/franz-go/pkg/kadm"
)

// LogDir is a log directory of a broker. Brokers before Kafka 3.3 do not say how large its disk is: the
// numbers are below 0 then.
type LogDir struct {
	Broker        int32
	Host          string // of the broker
	Path          string
	Total, Usable int64 // bytes of its disk
}

// LogDirs returns the log directories of all brokers.
func (c *Cluster) LogDirs(ctx context.Context) ([]LogDir, error) {
	ctx, cancel := context.WithTimeout(ctx, AdminTimeout)
	defer cancel()
	described, err := c.admin.DescribeAllLogDirs(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("describe the log directories: %w", errorCause(err))
	}
	hosts := make(map[int32]string)
	for _, b := range c.Info.Brokers {
		hosts[b.ID], _, _ = net.SplitHostPort(b.Addr) // kt joined it
	}
	var dirs []LogDir
	described.Each(func(d kadm.DescribedLogDir) {
		if d.Err == nil { // else its disk has failed
			dirs = append(dirs, LogDir{d.Broker, hosts[d.Broker], d.Dir, d.TotalBytes, d.UsableBytes})
		}
	})
	return dirs, nil
}
