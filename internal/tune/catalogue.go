package tune

import "slices"

// Catalogue is everything that kt knows of machines, group by group.
func Catalogue() []*Setting {
	return slices.Concat(
		memorySettings(), writebackSettings(), limitSettings(), cpuSettings(), clockSettings(),
		diskSettings(), fileSystemSettings(), networkSettings(), cardSettings(),
		jvmSettings(), brokerSettings(), contextSettings(),
	)
}
