// Package tune says whether a machine is fit for Kafka, changes what can be changed
// safely, and puts everything back.
//
//	profile, err := tune.LoadProfile("throughput", profiles.Of("tune"), nil)
//	machine, err := tune.Look(ctx, host.System(), host.SystemCalls("/"), tune.Options{Profile: profile})
//	report := tune.Check(machine, tune.Catalogue())
//	plan := report.Changes() // a value: nothing has happened yet
//	tune.NewTree("/", version).Apply(plan, tune.ApplyOptions{})
//
// Everything that kt knows is one list of settings, see [Catalogue]. A setting reads
// the machine and returns a reading; a reading that is not as wanted may carry
// changes. A change is a value: --dry-run prints it, --script and --ansible write it
// down for others, --apply journals and makes it, --rollback undoes what the journal
// holds. So none of them can say or do something that the others do not.
//
// All files are reached through one rooted tree, so that a test's machine is a folder.
package tune
