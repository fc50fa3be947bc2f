// Package jvm says how a Java process was started and what it says of itself.
package jvm

import (
	"errors"
	"time"
)

// Flags are the options of a java command line that matter to Kafka.
type Flags struct {
	Xmx, Xms int64             // bytes; 0: not set
	XX       map[string]string // "UseG1GC": "true", "MaxGCPauseMillis": "20"
	D        map[string]string // system properties
	GCLog    string            // of -Xlog:gc* or -Xloggc; "" for none
	Main     string            // the class: "kafka.Kafka"
	MainArgs []string          // what follows it
}

// ParseFlags reads a command line, its first word being java.
func ParseFlags(args []string) Flags { return Flags{} }

// Perf is what a running HotSpot JVM publishes in its hsperfdata file.
type Perf struct {
	Version                          string // "17.0.15+6"
	Uptime                           time.Duration
	HeapUsed, HeapCommitted, HeapMax int64 // bytes, all generations
	OldUsed, OldMax                  int64
	Collections                      []Collector
	Safepoints                       int64
	SafepointTime                    time.Duration
	Values                           map[string]any // every counter: int64 or string
}

// Collector is one of the JVM's garbage collectors.
type Collector struct {
	Name  string // "G1 young collection pauses"
	Count int64
	Time  time.Duration // since the start
}

// ParsePerf reads an hsperfdata file.
func ParsePerf(b []byte) (Perf, error) { return Perf{}, errors.ErrUnsupported }
