package cmd

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/kt-bench/kt/internal/kafka/javaconf"
	"github.com/kt-bench/kt/internal/result"
)

// recordBytes is the size of the records for which the page gives defaults that depend on it: that of kt.
const recordBytes = 512

// writeProperties puts the tables of the Java properties of both clients into a page.
func writeProperties(path string) error {
	producer, _, err := javaconf.ParseProducer(nil, recordBytes, false)
	if err != nil {
		return err
	}
	consumer, _, err := javaconf.ParseConsumer(nil, false)
	if err != nil {
		return err
	}
	for _, t := range []struct {
		client string
		all    []result.Setting
	}{{"producer", producer.All()}, {"consumer", consumer.All()}} {
		begin := fmt.Sprintf("<!-- %s: made of internal/kafka/javaconf -->\n", t.client)
		if err := writeBetween(path, begin, fmt.Sprintf("<!-- /%s -->\n", t.client), propertyTable(t.all)); err != nil {
			return err
		}
	}
	return nil
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
