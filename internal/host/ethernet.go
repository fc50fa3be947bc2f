package host

import "strings"

// featureGroups are names that people know from the ethtool program, and the
// kernel's features that each stands for: those that begin so.
var featureGroups = map[string]string{
	"rx-checksumming":              "rx-checksum",
	"tx-checksumming":              "tx-checksum-",
	"scatter-gather":               "tx-scatter-gather",
	"generic-segmentation-offload": "tx-generic-segmentation",
	"generic-receive-offload":      "rx-gro",
	"large-receive-offload":        "rx-lro",
	"ntuple-filters":               "rx-ntuple-filter",
	"receive-hashing":              "rx-hashing",
}

// groupFeatures adds the names that the ethtool program uses to the kernel's own. A
// group is on when one of its features is.
func groupFeatures(active map[string]bool) map[string]bool {
	all := make(map[string]bool, len(active)+len(featureGroups)+1)
	for name, on := range active {
		all[name] = on
		// tx-tcp-segmentation, tx-tcp6-segmentation and the like
		if strings.HasPrefix(name, "tx-tcp") && strings.HasSuffix(name, "-segmentation") {
			all["tcp-segmentation-offload"] = all["tcp-segmentation-offload"] || on
		}
	}
	for group, prefix := range featureGroups {
		for name, on := range active {
			// rx-gro is one feature; rx-gro-hw and rx-gro-list are others.
			if name == prefix || strings.HasSuffix(prefix, "-") && strings.HasPrefix(name, prefix) {
				all[group] = all[group] || on
			}
		}
	}
	return all
}
