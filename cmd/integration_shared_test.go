//go:build integration

package cmd

import "testing"

// TestManyLoadsOnOneBroker runs the tests that need one broker as it is, and leave it so, on the same: each
// start takes seconds of CPU.
func TestManyLoadsOnOneBroker(t *testing.T) {
	t.Parallel()
	k := startCluster(t, 1, "--property", "num.io.threads=5")
	for name, test := range map[string]func(*kafkaCluster, *testing.T){
		"compression is that of the Java client":             (*kafkaCluster).compressesLikeJava,
		"consume reads a real topic":                         (*kafkaCluster).isRead,
		"a rebalance is reported":                            (*kafkaCluster).tellsOfARebalance,
		"kt tune sees its settings":                          (*kafkaCluster).isSeenByTune,
		"the wire engine reads what the client engine reads": (*kafkaCluster).isReadByBothEngines,
		"Prometheus has the totals of the result":            (*kafkaCluster).isScraped,
		"what the wire engine wrote is read by others":       (*kafkaCluster).isReadByOthers,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(k.in(t), t)
		})
	}
}
