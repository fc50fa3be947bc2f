// Command kt load-tests Apache Kafka, and tunes the machines that it runs on.
package main

import (
	"os"

	"github.com/kt-bench/kt/cmd"
)

//go:generate go run . docs tune docs/checks.md

func main() { os.Exit(cmd.Main(cmd.System())) }
