package cmd

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A shell waits for what is looked up. A broker that hangs may take longer than its time, and is not waited for.
func TestALookUpGivesUpInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, r := range []struct {
			name  string
			takes time.Duration
			want  []string
		}{
			{"a broker that answers", lookUpTime / 2, []string{"orders"}},
			{"one that hangs", time.Minute, nil},
		} {
			c := &cobra.Command{Use: "kt"}
			c.Flags().String("topic", "", "")
			lookUp(c, "topic", func(context.Context, *pflag.FlagSet) []string {
				time.Sleep(r.takes)
				return []string{"orders"}
			})
			complete, _ := c.GetFlagCompletionFunc("topic")
			began := time.Now()
			got, _ := complete(c, nil, "")
			if took := time.Since(began); !slices.Equal(got, r.want) || took > 400*time.Millisecond {
				t.Errorf("%s: %q after %s", r.name, got, took)
			}
		}
		time.Sleep(time.Minute) // the broker that hangs, whose goroutine would end with the process
	})
}
