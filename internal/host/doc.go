// Package host describes this machine and measures how busy it is.
//
//	facts := host.ReadFacts()
//	sampler := host.NewSampler(start)
//	...
//	s := sampler.Sample(time.Since(start))
//	fmt.Printf("%s: kt used %.1f of %.0f cores\n", facts.CPUModel, s.ProcessCPU, s.Cores)
//
// Facts of every system come from gopsutil. Those of Linux alone, in /proc and /sys,
// are read through [FS], which can be rooted in a folder of
// fixtures: prometheus/procfs takes a folder alone, and follows the links that lead out of it.
// A source that cannot be read leaves its field zero and is named or
// counted; a run never fails because a machine hides a fact.
package host
