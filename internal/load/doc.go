// Package load takes a load from its settings to its result. It checks the load, chooses the system that it goes to, and
// makes it in this process or on the hosts of agents, alone or as the runs of a study. It knows all systems and all hosts, and
// neither screens nor exit codes. An error of a load that does not fit is a result.MisfitError.
package load
