package verdict

import (
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
)

func TestRecordLocksAreALimitWhereTheyAddUp(t *testing.T) {
	for name, tc := range map[string]struct {
		locks RecordLocks
		want  bool
	}{
		"fewer records than locks":             {RecordLocks{Limit: 2000, Partitions: 2, Used: 1700, Held: 148, Consumers: 20, Working: 17}, false},
		"more records than locks":              {RecordLocks{Limit: 2000, Partitions: 2, Used: 1700, Held: 592, Consumers: 20, Working: 8}, true},
		"all locks were seen in use":           {RecordLocks{Limit: 2000, Partitions: 2, Used: 1990, Held: 148, Consumers: 20, Working: 12}, true},
		"most locks are free":                  {RecordLocks{Limit: 2000, Partitions: 2, Used: 900, Held: 592, Consumers: 20, Working: 8}, false},
		"all consumers work":                   {RecordLocks{Limit: 2000, Partitions: 2, Used: 2000, Held: 592, Consumers: 20, Working: 19}, false},
		"acknowledgements wait behind a fetch": {RecordLocks{Limit: 2000, Partitions: 1, Used: 900, Held: 166, Consumers: 12, Working: 3, Behind: time.Second}, true},
		"the locks of the group are not known": {RecordLocks{Partitions: 1, Used: 900, Held: 166, Consumers: 12, Working: 3}, false},
	} {
		must.Match(t, tc.want, tc.locks.usedUp(), "%s", name)
	}
}

func TestLocksThatRunOutAreNamed(t *testing.T) {
	l := RecordLocks{Held: 590, Threads: 1, Duration: 15 * time.Second}
	must.Match(t, "590 records × 150ms is above the lock of 15.0s (share.record.lock.duration.ms), so records come again: --share-max-records 50, or a longer lock", l.RunOut(150*time.Millisecond), "one thread")
	l.Threads = 6
	must.Match(t, "", l.RunOut(150*time.Millisecond), "six threads")
	must.Match(t, "", (&RecordLocks{Held: 590, Threads: 1}).RunOut(time.Hour), "a lock that is not known")
}
