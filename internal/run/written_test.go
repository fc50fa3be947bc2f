package run_test

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/kafka/system"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/run"
)

// acksNone makes a run with acks=0 on a broker that stores all records a little later, or none.
func acksNone(t *testing.T, p plan.Plan, stores bool) result.Result {
	t.Helper()
	fake := must.Have(kfake.NewCluster(kfake.NumBrokers(1)))(t)
	defer fake.Close()
	fake.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		if stores {
			fake.SleepControl(func() { <-time.After(300 * time.Millisecond) })
		}
		return nil, nil, !stores
	})
	p.Bootstrap, p.Topic.ReplicationFactor = fake.ListenAddrs(), 1
	p.Load.Rate, p.Load.Warmup.Records = plan.Rate{}, 100
	k, _ := must.Both(system.New(&p, map[string]plan.Given{"acks": {Value: "0"}, "enable.idempotence": {Value: "false"}}, nil, false))(t)
	return must.Have(run.Run(t.Context(), run.Request{Plan: p, System: k}))(t)
}

func TestRecordsThatNoLogHasAreNoSuccess(t *testing.T) {
	wire, trip := producing("wire", 300), producing("trip", 300)
	wire.Engine, wire.Payload.Kind = plan.Wire, plan.Letters
	trip.Command, trip.Payload.Stamp = plan.Roundtrip, true
	trip.Read = plan.Read{Consumers: 1, From: plan.From{Latest: true}, Commit: plan.CommitNone, Timeout: 2e9}
	for _, p := range []plan.Plan{producing("client", 300), wire, trip} {
		t.Run(p.Topic.Name, func(t *testing.T) {
			t.Parallel()
			res := acksNone(t, p, false)
			fault := run.Judge(&res, false)
			if res.Records.NotInLog != 300 || !res.Records.SentOnly || res.BoundBy.Limit != verdict.Failures || fault == nil || !strings.Contains(fault.Error(), "300 records are not in the log") {
				t.Errorf("%+v, limit %+v: %v", res.Records, res.BoundBy, fault)
			}
			res.Valid = false
			must.Err(t, "300 records are not in the log", run.Judge(&res, false), "a run that is not valid either")
			res.Valid, res.LogEnds, res.Records.NotInLog = true, nil, 0
			if err := run.Judge(&res, false); p.Reads() && (err == nil || !strings.Contains(err.Error(), "none of 200 sent records was read")) {
				t.Errorf("a round trip that read nothing: %v", err)
			}
			res = acksNone(t, p, true)
			if err := run.Judge(&res, false); err != nil || res.LogEnds == nil || res.LogEnds.After-res.LogEnds.Before != 300 || p.Reads() && res.Records.Consumed+res.Warmup.Records.Consumed != 300 {
				t.Errorf("all records are in the log: %v, %+v, %d read", err, res.LogEnds, res.Records.Consumed+res.Warmup.Records.Consumed)
			}
		})
	}
}
