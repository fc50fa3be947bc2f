// Package capture makes a workload of what a cluster tells of its load, without what its records say.
//
//	seen := &capture.Cluster{…}                 // an adapter looks: kafka/look, rabbitmq, pulsar
//	seen.Write(w, capture.Options{Similar: 0.2}) // a file for kt run
//
// Adapters fill the figures of this file. They hand over records one by one (Records.Add), of which counts, sizes and hashes stay.
package capture
