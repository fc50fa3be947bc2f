package tune

func memorySettings() []*Setting     { return nil }
func writebackSettings() []*Setting  { return nil }
func limitSettings() []*Setting      { return nil }
func cpuSettings() []*Setting        { return nil }
func clockSettings() []*Setting      { return nil }
func diskSettings() []*Setting       { return nil }
func fileSystemSettings() []*Setting { return nil }
func networkSettings() []*Setting    { return nil }
func cardSettings() []*Setting       { return nil }
func jvmSettings() []*Setting        { return nil }
func brokerSettings() []*Setting     { return nil }
func contextSettings() []*Setting    { return nil }
