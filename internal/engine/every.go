package engine

import (
	"context"
	"time"
)

// Every calls f at each interval, until ctx ends: most sources look in this way.
func Every(ctx context.Context, interval time.Duration, f func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			f()
		}
	}
}
