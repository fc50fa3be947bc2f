package driver

import (
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/kafka/javaconf"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
)

// producing returns the settings of a producer with these properties, each written
// name=value.
func producing(t testing.TB, recordMax int, words ...string) javaconf.Producer {
	t.Helper()
	s, _ := must.Both(javaconf.ParseProducer(given(words), recordMax, false))(t)
	return s
}

// consuming returns the settings of a consumer with these properties.
func consuming(t testing.TB, words ...string) javaconf.Consumer {
	t.Helper()
	s, _ := must.Both(javaconf.ParseConsumer(given(words), false))(t)
	return s
}

func given(words []string) map[string]plan.Given {
	g := map[string]plan.Given{}
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		g[name] = plan.Given{Value: value, Source: "the test"}
	}
	return g
}
