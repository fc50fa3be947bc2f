package plan

import "time"

// Exec is a command of the user's own that runs beside a load. It is no part of a Plan, so
// another host cannot send one.
type Exec struct {
	After   time.Duration // from the start of the run
	Command string        // for a shell
}
