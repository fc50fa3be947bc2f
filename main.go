// Command kt load-tests Apache Kafka, and tunes the machines that it runs on.
package main

import (
	"os"

	"github.com/kt-bench/kt/cmd"
)

//go:generate go test -vet=off ./cmd ./internal/report -run "TestPagesHaveTheTables|TestTheSchemaOfStudyFiles|TestTheManualOfTheChecks" -update

func main() { os.Exit(cmd.Main(cmd.System())) }
