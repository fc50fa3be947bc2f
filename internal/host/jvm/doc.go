// Package jvm reads how a Java process was started, and its own counters.
//
//	flags := jvm.ParseFlags(process.Args)
//	perf, err := jvm.ParsePerf(content) // of /tmp/hsperfdata_USER/PID
//	fmt.Printf("-Xmx %d, of which %d are used\n", flags.Xmx, perf.HeapUsed)
//
// Both are read from files: no JMX, no tool of the JDK, and the process
// does not notice.
package jvm
