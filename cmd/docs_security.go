package cmd

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/kt-bench/kt/internal/kafka/security"
)

// Between these lines of a page stands the table of security properties.
const (
	securityBegin = "<!-- properties: made of internal/kafka/security -->\n"
	securityEnd   = "<!-- /properties -->\n"
)

// writeSecurity puts the table of Java's security properties into a page.
func writeSecurity(path string) error {
	var b bytes.Buffer
	b.WriteString("| property | default in Java | what kt does | where franz-go alone differs |\n|---|---|---|---|\n")
	for _, p := range security.Properties() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", p.Name, inCode(p.Default), p.About(), cmp.Or(p.Franz, "–"))
	}
	return writeBetween(path, securityBegin, securityEnd, b.Bytes())
}
