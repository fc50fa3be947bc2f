// Command kt load-tests Apache Kafka, and tunes the machines that it runs on.
package main

import (
	"os"

	"github.com/kt-bench/kt/cmd"
)

//go:generate go run . docs tune docs/checks.md
//go:generate go run . docs studies docs/studies.md
//go:generate go run . docs security docs/security.md
//go:generate go run . docs properties docs/properties.md
//go:generate go run . docs study-schema docs/study-file.schema.json

func main() { os.Exit(cmd.Main(cmd.System())) }
