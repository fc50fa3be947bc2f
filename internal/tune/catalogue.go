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

// IDs are the names of all settings.
func IDs() []string {
	var ids []string
	for _, s := range Catalogue() {
		ids = append(ids, s.ID)
	}
	return ids
}
