package kafka

import (
	"context"
	"fmt"
	"net"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/kt-bench/kt/internal/result"
)

// LogDirs returns the log directories of all brokers.
func (c *Cluster) LogDirs(ctx context.Context) ([]result.LogDir, error) {
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
	var dirs []result.LogDir
	described.Each(func(d kadm.DescribedLogDir) {
		if d.Err == nil { // else its disk has failed
			dirs = append(dirs, result.LogDir{Broker: d.Broker, Host: hosts[d.Broker], Path: d.Dir, Total: d.TotalBytes, Usable: d.UsableBytes})
		}
	})
	return dirs, nil
}
