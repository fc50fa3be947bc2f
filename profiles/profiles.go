// Package profiles holds what kt ships as YAML: ready-made settings under a name.
package profiles

import (
	"embed"
	"io/fs"
)

//go:embed produce/*.yaml consume/*.yaml roundtrip/*.yaml study/*.yaml tune/*.yaml published/*.yaml
var files embed.FS

// Of are the profiles of a command, as "produce": NAME.yaml with flag names as keys.
func Of(command string) fs.FS {
	sub, err := fs.Sub(files, command)
	if err != nil {
		panic(err) // the names of commands are paths
	}
	return sub
}
