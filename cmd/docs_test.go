package cmd

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra/doc"

	"github.com/kt-bench/kt/internal/kafka/javaconf"
	"github.com/kt-bench/kt/internal/kafka/security"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/tune"
)

// man is a flag of the test for scripts/docs.sh.
var man = flag.String("man", "", "write the man pages into this `FOLDER`")

// recordBytes is the size of the records for which the page gives defaults that depend on it: that of kt.
const recordBytes = 512

func TestTheReadmeTellsHowManyChecksThereAre(t *testing.T) {
	text := must.Have(os.ReadFile("../README.md"))(t)
	want := fmt.Sprintf(" %d checks", len(tune.Catalogue()))
	must.True(t, strings.Contains(string(text), want), "README.md does not say %s", want)
}

func TestPagesHaveTheTablesThatAreMadeOfTheCode(t *testing.T) {
	producer, _, errProducer := javaconf.ParseProducer(nil, recordBytes, false)
	consumer, _, errConsumer := javaconf.ParseConsumer(nil, false)
	studies, errStudies := shippedStudies()
	must.Do(t, cmp.Or(errProducer, errConsumer, errStudies))
	for _, tc := range []struct {
		page, name, from string
		table            []byte
	}{
		{"properties.md", "producer", "internal/kafka/javaconf", propertyTable(producer.All())},
		{"properties.md", "consumer", "internal/kafka/javaconf", propertyTable(consumer.All())},
		{"security.md", "properties", "internal/kafka/security", securityTable()},
		{"studies.md", "studies", "profiles/study", studyManual(studies)},
	} {
		path := "../docs/" + tc.page
		page := must.Have(os.ReadFile(path))(t)
		begin, end := fmt.Appendf(nil, "<!-- %s: made of %s -->\n", tc.name, tc.from), fmt.Appendf(nil, "<!-- /%s -->\n", tc.name)
		before, rest, ok := bytes.Cut(page, begin)
		table, after, ended := bytes.Cut(rest, end)
		must.Hold(t, ok && ended, "%s: the lines %q and %q are not in it", path, begin, end)
		if must.Update() {
			must.Do(t, os.WriteFile(path, slices.Concat(before, begin, tc.table, end, after), 0o644))
			continue
		}
		must.Match(t, string(table), string(tc.table), "%s, %s; go test -update writes it anew", path, tc.name)
	}
}

func TestTheSchemaOfStudyFilesAndWorkloadsIsThatOfTheFlags(t *testing.T) {
	env := System()
	for kind, schema := range map[string]object{"study": studySchema(newRoot(&env)), "workload": workloadSchema(newRoot(&env))} {
		var b bytes.Buffer
		must.Do(t, report.Indented(&b, schema))
		must.Golden(t, "../docs/"+kind+"-file.schema.json", b.String())
	}
}

func TestEveryCommandHasAManPage(t *testing.T) {
	dir := cmp.Or(*man, t.TempDir())
	env := System()
	root := newRoot(&env)
	root.DisableAutoGenTag = true
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd() // the root adds both when it runs
	must.Do(t, doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "kt", Manual: "kt", Date: sourceDate()}, dir))
	for _, c := range root.Commands() {
		if page := dir + "/kt-" + c.Name() + ".1"; c.IsAvailableCommand() {
			_, err := os.Stat(page)
			must.True(t, err == nil, "%v", err)
		}
	}
}

// sourceDate returns the date for generated pages: SOURCE_DATE_EPOCH, so that two
// builds of one source are alike, or a fixed day.
func sourceDate() *time.Time {
	t := time.Unix(0, 0).UTC()
	if n, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
		t = time.Unix(n, 0).UTC()
	}
	return &t
}

func propertyTable(all []result.Setting) []byte {
	var b bytes.Buffer
	b.WriteString("| property | default | in kt | where franz-go or kt differs from Java |\n|---|---|---|---|\n")
	for _, s := range all {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", s.Name, inCode(s.Default), effect(s.Client), cmp.Or(s.Note, "–"))
	}
	return b.Bytes()
}

// effect says what becomes of a property, by its result.Setting.Client.
func effect(client string) string {
	switch client {
	case "":
		return "kt does it itself"
	case "ignored":
		return "no effect; a value of your own is a warning"
	}
	return "franz-go's `" + client + "`"
}

func inCode(value string) string {
	if value == "" {
		return "–"
	}
	return "`" + value + "`"
}

func securityTable() []byte {
	var b bytes.Buffer
	b.WriteString("| property | default in Java | what kt does | where franz-go alone differs |\n|---|---|---|---|\n")
	for _, p := range security.Properties() {
		about := map[string]string{"ignored": "no effect, with a warning: ", "refused": "refused: "}[p.Use] + p.Kt
		if p.Use == "used" && p.Secret {
			about += "; never shown"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", p.Name, inCode(p.Default), about, cmp.Or(p.Franz, "–"))
	}
	return b.Bytes()
}

// studyManual returns the list of the studies that kt has, as Markdown.
func studyManual(all []*study.Study) []byte {
	var b bytes.Buffer
	b.WriteString("| study | question | varies | what the published test found |\n|---|---|---|---|\n")
	for _, s := range all {
		var varies []string
		for _, f := range s.Factors {
			values := strings.Join(f.Values, ", ")
			if f.Search != nil {
				values = "searched in " + f.Search.String()
			}
			varies = append(varies, "`"+f.Name+"` "+values)
		}
		for _, part := range s.Parts {
			varies = append(varies, "part `"+part.Name+"`")
		}
		for _, g := range s.Given {
			varies = append(varies, "`--set "+g.Name+"=…`")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", s.Name, inCell(s.About), strings.Join(varies, "; "), inCell(s.Found))
	}
	return b.Bytes()
}

// inCell returns a text as the cell of a table.
func inCell(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;", ">", "&gt;", "`", "'").Replace(s)
}
