package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/result"
)

// whyNow adds to the error of a result why the brokers cannot be reached now, if they cannot, and records failed
// because the client gave up on them or could not log in: that is the reason as a rule, as when a password was changed.
func (l *load) whyNow(ctx context.Context, res *result.Result, judged error) error {
	code := res.Errors.Worst()
	if l.kafka == nil || l.Plan.Embedded() || !strings.HasPrefix(code, "client:") && code != "SASL_AUTHENTICATION_FAILED" {
		return judged
	}
	const within = 2 * time.Second
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	c, err := kafka.Connect(ctx, kafka.Access{Bootstrap: l.Plan.Bootstrap, Timeout: within, Security: l.kafka.Security})
	if err != nil && !errors.Is(err, ctx.Err()) {
		return fmt.Errorf("%w; now %w", judged, err)
	}
	if err == nil {
		c.Close()
	}
	return judged
}
