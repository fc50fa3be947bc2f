// Package run makes runs: from a validated plan to a finished result.
//
//	system, warnings, err := system.New(&p, nil, nil, false) // internal/kafka/system
//	res, err := run.Run(ctx, run.Request{Plan: p, System: system}, observer)
//
// Run connects, makes what is written to, opens clients, runs the engine and what is
// watched beside it, writes the run file, verifies and cleans up. It prints nothing, reads
// no flag, handles no signal and leaves the settings of the process alone: several runs in
// one process behave as in processes of their own. Package run names no Kafka type. It
// reaches a system through System and Session.
package run
