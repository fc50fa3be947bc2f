// Package profiles holds what kt ships as YAML: ready-made settings under a name.
package profiles

import (
	"embed"
	"io/fs"
)

//go:embed produce/*.yaml
var files embed.FS

// Produce are the profiles of `kt produce`: NAME.yaml with flag names as keys.
func Produce() fs.FS {
	sub, err := fs.Sub(files, "produce")
	if err != nil {
		panic(err) // the directive above names the folder
	}
	return sub
}
