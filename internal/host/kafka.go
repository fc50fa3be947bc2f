package host

import (
	"fmt"
	"path"
	"strconv"

	"github.com/kt-bench/kt/internal/host/jvm"
)

// RunsKafka reports whether a process with these words on its command line is Kafka's
// server: Apache's class, or Confluent's wrapper around it.
func (f FS) RunsKafka(pid int, args []string) bool {
	if len(args) == 0 || path.Base(args[0]) != "java" {
		return false
	}
	// A command line can say anything; the program cannot. Only root may look at it.
	if program, err := f.Link(path.Join("proc", strconv.Itoa(pid), "exe")); err == nil && path.Base(program) != "java" {
		return false
	}
	main := jvm.ParseFlags(args).Main
	return main == "kafka.Kafka" || main == "io.confluent.support.metrics.SupportedKafka"
}

// PerfFiles returns the files in which a JVM may publish its figures, in the /tmp that it
// sees first. Anybody may leave such a file: one of another user is not the JVM's.
func (f FS) PerfFiles(pid int) []string {
	inner := f.InnerPID(pid)
	files := f.Glob(fmt.Sprintf("proc/%d/root/tmp/hsperfdata_*/%d", pid, inner))
	if inner == pid { // else the file of that number is another process's
		files = append(files, f.Glob(fmt.Sprintf("tmp/hsperfdata_*/%d", inner))...)
	}
	return files
}
