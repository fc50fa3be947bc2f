package cmd

import (
	"fmt"
	"runtime/debug"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/theme"
)

const (
	// readerGC is the GOGC of a run that only reads. A record is garbage as soon as it was
	// counted, and little lives, so the collector would run many times a second.
	// With 450 kt stays below 96 MiB and needs a fifth less CPU a record (scripts/bench
	// consume).
	readerGC = 450

	// loadMemory is the memory limit of the Go runtime with the embedded broker, and in a run that reads. The bound of what brokers
	// send is below it. With the memory outside of the heap, kt stays below 512 MiB.
	loadMemory = 384 << 20
)

// tuneProcess sets the garbage collector for the one load that this process makes.
func tuneProcess(env *Env, p *plan.Plan) {
	if !p.Writes() && env.Getenv("GOGC") == "" {
		debug.SetGCPercent(readerGC)
	}
	switch {
	case p.Embedded():
		debug.SetMemoryLimit(loadMemory)
	case p.Reads() && env.Getenv("GOMEMLIMIT") == "":
		debug.SetMemoryLimit(readerMemory(p, host.System().UsableMemory()))
	}
}

// readerMemory returns the memory limit of the Go runtime in a run that reads. Each further client adds to it. It is three
// quarters of the usable memory at most.
func readerMemory(p *plan.Plan, usable int64) int64 {
	most := int64(loadMemory + p.Read.Clients()*(4<<20) + max(0, p.Producers-1)*(32<<20))
	if usable > 0 {
		most = min(most, usable/4*3)
	}
	return most
}

// leastAddresses is the address space that kt needs: the Go runtime reserves more than it uses.
const leastAddresses = 2 << 30

// addressSpace returns an error if the process may have too little address space. The runtime would end it with a crash in the
// middle. Below about 0.8 GiB it does that before any code of kt runs.
func addressSpace(limit uint64) error {
	if limit == 0 || limit >= leastAddresses {
		return nil
	}
	return fmt.Errorf("ulimit -v: the address space is limited to %s, and kt needs 2 GiB: raise the limit (ulimit -v unlimited); "+
		"to bound memory, use a cgroup or GOMEMLIMIT", theme.Bytes(int64(limit)))
}
