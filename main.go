// Command kt load-tests Apache Kafka.
package main

import (
	"os"

	"github.com/kt-bench/kt/cmd"
)

func main() { os.Exit(cmd.Main(cmd.System())) }
