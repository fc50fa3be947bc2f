package report

import (
	"bytes"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// YAML writes the document of a run in YAML.
func YAML(w io.Writer, r result.Result, o Options) error {
	return asYAML(w, func(w io.Writer) error { return JSON(w, r, o) })
}

// asYAML writes in YAML what a function writes in JSON, so that both have the same names in the same order.
func asYAML(w io.Writer, write func(io.Writer) error) error {
	var text, out bytes.Buffer
	var n yaml.Node
	if err := write(&text); err != nil {
		return err
	}
	if err := yaml.Unmarshal(text.Bytes(), &n); err != nil { // JSON is YAML
		return err
	}
	inBlocks(&n)
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(&n); err != nil {
		return err
	}
	_, err := io.WriteString(w, strings.Map(func(r rune) rune {
		if r == '\n' {
			return r
		}
		return theme.CleanRune(r)
	}, out.String()))
	return err
}

// otherInYAML11 matches strings that readers of YAML 1.1 take for something else unless they are quoted. The encoder quotes those of YAML 1.2.
var otherInYAML11 = regexp.MustCompile(`(?i)^(y|yes|n|no|on|off|=|<<|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*)$`)

// inBlocks lets a node be written with a line for each value.
func inBlocks(n *yaml.Node) {
	n.Style = 0
	if n.Tag == "!!str" && otherInYAML11.MatchString(n.Value) {
		n.Style = yaml.DoubleQuotedStyle
	}
	for _, of := range n.Content {
		inBlocks(of)
	}
}
