package pulsar

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/result"
)

func TestWaitingForTheClientHasATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		began := time.Now()
		_, err := within(t.Context(), openTimeout, func() (int, error) { <-release; return 0, nil })
		if took := time.Since(began); took != openTimeout || err == nil {
			t.Errorf("it ends after %s with %v", took, err)
		}
	})
}

// A broker keeps the connection, and answers nothing, pings alone, or with another broker each time, which is itself.
func TestQuestionsToABrokerEndWithTheRun(t *testing.T) {
	for _, tc := range []struct {
		name    string
		content func(self string) func(command, request uint64) []byte
	}{
		{"nothing", func(string) func(uint64, uint64) []byte { return func(uint64, uint64) []byte { return nil } }},
		{"connecting alone", func(string) func(uint64, uint64) []byte {
			return func(command, _ uint64) []byte {
				if command == commandConnect {
					return text(nil, 1, "test")
				}
				return nil
			}
		}},
		{"redirects", func(self string) func(uint64, uint64) []byte {
			return func(command, request uint64) []byte {
				switch command {
				case commandConnect:
					return text(nil, 1, "test")
				case commandPartitions:
					return number64(number64(number64(nil, 1, 0), 2, request), 3, 0)
				case commandLookup: // URL, redirect, request
					return number64(number64(text(nil, 1, self), 3, 0), 4, request)
				}
				return nil
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
			defer func() { _ = l.Close() }()
			go answerCommands(l, tc.content("pulsar://"+l.Addr().String()))
			p := &plan.Plan{
				Command: plan.Roundtrip, URL: "pulsar://" + l.Addr().String(), Topic: plan.Topic{Name: "t"}, Producers: 1,
				Payload: plan.Payload{Kind: plan.Letters, Size: plan.FixedSize(100), Keys: plan.NoKeys},
				Read:    plan.Read{Consumers: 1, Groups: 1, From: plan.From{Latest: true}},
			}
			system, _ := must.Both(New(p, nil, nil, queue.Access{}))(t)
			s := &session{System: system, plan: p}
			s.topic, s.single, s.subscriptions = result.Topic{Name: "t", Partitions: 1}, true, []string{"s"}
			for name, ask := range map[string]func(context.Context) error{
				"a producer": func(ctx context.Context) error {
					_, err := (&producer{s, queue.NewAccounts(p, 0, 1)}).Open(ctx, &engine.Shard{})
					return err
				},
				"a consumer": func(ctx context.Context) error {
					_, err := newConsumers(s, queue.Options{Plan: *p, Queues: 1}).OpenReader(ctx, &engine.Shard{})
					return err
				},
			} {
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				began := time.Now()
				if err := ask(ctx); err == nil || tc.name != "redirects" && !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > requestTimeout/2 {
					t.Errorf("%s is opened for %s: %v", name, time.Since(began), err)
				}
				cancel()
			}
		})
	}
}
