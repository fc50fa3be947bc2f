package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sys/unix"
)

// due sends each record by itself when it is due, on a thread whose sleeps end within microseconds, and prints
// percentiles of the time from due to acknowledged: what a client adds to that is its own.
func due(args []string) error {
	client, err := producer(args, time.Millisecond)
	if err != nil {
		return err
	}
	defer client.Close()
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return err
	}
	records, rate, value := number(args[4]), number(args[7]), make([]byte, number(args[5]))
	took, failed := make([]time.Duration, records), error(nil)
	began := time.Now()
	for i := range records {
		at := time.Duration(i) * time.Second / time.Duration(rate)
		if left := at - time.Since(began); left > 0 {
			wait := unix.NsecToTimespec(int64(left))
			_ = unix.Nanosleep(&wait, nil) // a signal ends it too early, which no percentile here shows
		}
		client.Produce(context.Background(), &kgo.Record{Value: value}, func(_ *kgo.Record, err error) {
			took[i], failed = time.Since(began)-at, errors.Join(failed, err)
		})
	}
	if err := errors.Join(client.Flush(context.Background()), failed); err != nil {
		return err
	}
	took = took[records/5:] // the first fifth is the warm-up
	slices.Sort(took)
	fmt.Printf("50th = %d, 99th = %d us\n", took[len(took)/2].Microseconds(), took[len(took)*99/100].Microseconds())
	return nil
}
