package run

import (
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/result"
)

// Host is the state of one host of a run on many.
type Host struct {
	Name      string
	Processes int              // that make a load; 0: the host is only watched
	State     string           // lobby, preparing, ready, running, draining, done, away (not heard for seconds), lost (given up) or watching
	Snapshot  *result.Snapshot // of its processes together; nil: nothing came from them
	Vitals    *host.Vitals     // the newest; nil: none came
	Offset    time.Duration    // its clock minus this one
	Bound     time.Duration    // by how much that may be wrong
	Seen      time.Duration    // since the host or its load was heard last
	Until     time.Time        // when the host is given up, if a run that is else over waits for it; zero: it does not
	Note      string           // for people; "" when all is well
}
