package driver

import (
	"context"
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/payload"
)

// refused is a driver whose clients cannot connect when they are opened, and once more for
// every record.
type refused struct{ ownDriver }

type refusedWorker struct{ engine.Worker }

func (d refused) Open(ctx context.Context, s *engine.Shard) (engine.Worker, error) {
	w, err := d.ownDriver.Open(ctx, s)
	failConnect(w)
	return refusedWorker{w}, err
}

func failConnect(w engine.Worker) {
	h := w.(*ownCost).hooks
	h.OnBrokerConnect(kgo.BrokerMetadata{}, 0, nil, errors.New("connection refused"))
	h.OnBrokerConnect(kgo.BrokerMetadata{}, 0, nil, nil)
}

func (w refusedWorker) Do(op *engine.Op) bool {
	failConnect(w.Worker)
	return w.Worker.Do(op)
}

func TestConnectsThatFailWhileTheLoadGoesOnAreCounted(t *testing.T) {
	p := benchPlan(7)
	values := must.Have(payload.MakeValues(&p))(t)
	var sum total
	must.Have(engine.Run(t.Context(), p, engine.Drivers{Send: refused{ownDriver{values: values}}}, engine.Options{}, &sum))(t)
	if sum.w.FailedConnects != 7 || sum.w.Acknowledged != 7 {
		t.Errorf("%d failed connects, %d acknowledged; want 7 of each", sum.w.FailedConnects, sum.w.Acknowledged)
	}
}
