// Package workload reads files with several unlike loads that run at once, and makes them.
//
//	load, err := workload.Parse("shop.yaml", text, known) // one of kt run: it stands where a load of a study stands
//	res, err := workload.Run(ctx, loads, options)
//
// Each load is a run of its own with a run file of its own. All of them begin at one moment, and their run files become one
// collection, of which package merge makes one result with a section for each load. The package knows no flag, no client and
// no screen.
package workload
