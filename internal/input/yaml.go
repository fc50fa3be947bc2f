package input

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// YAML returns the root of a file of one YAML document; nil: the file is empty. No alias and no << is left in it: what they stand
// for is in their place. where names a line of the file.
func YAML(data []byte, where func(line int) string) (*yaml.Node, error) {
	// Decoding finds what the nodes alone do not show: keys that are there twice, endless aliases.
	var all any
	if err := yaml.Unmarshal(data, &all); err != nil {
		text, line := strings.NewReplacer("yaml: unmarshal errors:\n  ", "", "yaml: ", "", "mapping key", "the key").Replace(err.Error()), 1
		if _, err := fmt.Sscanf(text, "line %d: ", &line); err == nil {
			text = strings.TrimPrefix(text, fmt.Sprintf("line %d: ", line))
		}
		return nil, fmt.Errorf("%s: %s", where(line), text)
	}
	documents := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	switch err := documents.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%s: %w", where(1), err)
	}
	if err := documents.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: only the part above the first --- would count; write one document", where(max(1, more.Line)))
	}
	return plain(doc.Content[0]), nil
}

// plain puts what aliases and << stand for in their place. A key of the mapping counts more than one that << takes over.
func plain(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	for i, child := range n.Content {
		n.Content[i] = plain(child)
	}
	if n.Kind != yaml.MappingNode {
		return n
	}
	from := []*yaml.Node{{Kind: yaml.MappingNode}} // the keys of its own, and then those that << takes over
	for i := 0; i < len(n.Content); i += 2 {
		switch key, value := n.Content[i], n.Content[i+1]; {
		case key.ShortTag() != "!!merge":
			from[0].Content = append(from[0].Content, key, value)
		case value.Kind == yaml.MappingNode:
			from = append(from, value)
		default:
			from = append(from, value.Content...)
		}
	}
	seen := make(map[string]bool)
	n.Content = nil
	for _, m := range from {
		for i := 0; i < len(m.Content); i += 2 {
			if key := m.Content[i]; !seen[key.Value] {
				seen[key.Value] = true
				n.Content = append(n.Content, key, m.Content[i+1])
			}
		}
	}
	return n
}

// Text returns a scalar as it stands in the file, whatever YAML makes of it: 1.10, 007, yes and 2026-01-01 stay what they are, and
// nothing is the empty text.
func Text(n *yaml.Node) (string, error) {
	switch tag := n.ShortTag(); {
	case n.Kind != yaml.ScalarNode:
		return "", errors.New("write one value, or a list of them: [1, 2, 4]")
	case n.Style&yaml.TaggedStyle != 0 && tag != "!!str":
		return "", fmt.Errorf("%s %s: leave the tag out: the text counts as it stands", n.Tag, n.Value)
	case tag == "!!null" && n.Value != "":
		return "", fmt.Errorf("%s is no value: write it in quotes if it is a text, or leave the line out", n.Value)
	}
	return n.Value, nil
}

// Items returns the items of a list, or the one value that there is.
func Items(n *yaml.Node) []*yaml.Node {
	if n.Kind == yaml.SequenceNode {
		return n.Content
	}
	return []*yaml.Node{n}
}
