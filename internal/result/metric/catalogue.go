package metric

import (
	_ "embed"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/kt-bench/kt/internal/stats"
)

//go:embed catalogue.yaml
var catalogue []byte

// all returns the catalogue, in the order in which metrics are shown.
var all = sync.OnceValue(func() (list []Metric) {
	if err := yaml.Unmarshal(catalogue, &list); err != nil {
		panic(err) // it is a part of kt
	}
	for i := range list {
		if m := &list[i]; m.Kind == Count && !m.HigherIsBetter {
			m.Floor = 1
		}
	}
	return list
})

// Metrics returns those that can be judged, in the order in which they are shown. A distribution is there by its quantiles.
var Metrics = sync.OnceValue(func() (list []Metric) {
	for _, m := range all() {
		switch {
		case m.Histogram != "":
			list = append(list, m.quantiles()...)
		case m.Name != "":
			list = append(list, m)
		}
	}
	return list
})

// Exported returns the metrics of monitoring systems, in the order in which they are shown.
func Exported() []Metric {
	return slices.DeleteFunc(slices.Clone(all()), func(m Metric) bool { return m.Export == "" })
}

// field returns a field by its path.
func field(of any, path string) reflect.Value {
	v := reflect.ValueOf(of)
	for name := range strings.SplitSeq(path, ".") {
		v = v.Elem().FieldByName(name)
		if v.Kind() != reflect.Pointer {
			v = v.Addr()
		}
	}
	return v
}

// numberIn returns the number in a field, that of a time in microseconds.
func numberIn(of any, path string) float64 {
	v := field(of, path).Elem()
	switch {
	case v.CanFloat():
		return v.Float()
	case v.Type() == reflect.TypeFor[time.Duration]():
		return micros(time.Duration(v.Int()))
	}
	return float64(v.Int())
}

// counts returns the numbers by the value of the label.
func (m *Metric) counts(f *Figures) map[string]int64 {
	return *field(f, m.By).Interface().(*map[string]int64)
}

// histogram returns the distribution that the metric is.
func (m *Metric) histogram(w *stats.Window, reads bool) *stats.Histogram {
	if m.Histogram == headline {
		return w.Headline(reads)
	}
	return field(w, m.Histogram).Interface().(*stats.Histogram)
}

// Value returns the value of a metric that can be judged. ok is false if the figures have none.
func (m *Metric) Value(f *Figures) (v float64, ok bool) {
	of := m.Of
	switch {
	case m.quantile != nil:
		h := m.histogram(f.Window, f.Plan.Reads())
		d := m.quantile(h)
		if m.Unit == Ratio { // a second stands for the whole of a share
			return d.Seconds(), h.Ranked() > 0
		}
		return micros(d), h.Ranked() > 0
	case m.verified() && (f.Verify == nil || f.Verify.OfAnotherRun):
		return 0, false
	case f.Plan.ReadsOnly() && m.Read != nil:
		of = m.Read
	}
	for _, path := range of {
		v += numberIn(f, path)
	}
	if of == nil && m.By != "" {
		for _, n := range m.counts(f) {
			v += float64(n)
		}
	}
	return max(v, 0), v >= 0 && (of != nil || m.By != "") && (!m.verified() || v > 0 || f.Verify.Complete())
}

// one calls put for each series of one window.
func (m *Metric) one(f *Figures, put func(v Value, labels ...string)) {
	number := func(v float64, labels ...string) {
		if m.Unit == Time {
			v /= 1e6
		}
		put(Value{Number: v}, labels...)
	}
	switch {
	case m.Export == "kt_run_info":
		number(1, f.Now.Info...)
	case m.Export == "kt_run_stage":
		for i, name := range f.Now.Stages {
			number(map[bool]float64{true: 1}[i == f.Now.Stage], name)
		}
	case m.Export == "kt_latency_out_of_range_total":
		for _, of := range all() {
			if of.Kind == Latency && of.Name != "" && of.Lacks(f.Plan) == "" {
				number(float64(of.histogram(f.Window, true).OutOfRange()), underscored(of.Name))
			}
		}
	case m.Traffic != "":
		for _, id := range f.Window.BrokerIDs() {
			b, broker := f.Window.Brokers[id], strconv.Itoa(int(id))
			series := func(request string, t *stats.Traffic) {
				if m.Kind == Latency {
					put(Value{Times: &t.Latency}, broker, request)
				} else {
					number(numberIn(t, m.Traffic), broker, request)
				}
			}
			if f.Plan.Writes() {
				series("produce", &b.Traffic)
			}
			if f.Plan.Reads() {
				series("fetch", &b.Fetch)
			}
		}
	case m.By != "":
		for code, n := range m.counts(f) {
			number(float64(n), code)
		}
	case m.Histogram != "":
		put(Value{Times: m.histogram(f.Window, f.Plan.Reads())})
	default:
		if v, ok := m.Value(f); ok {
			number(v)
		}
	}
}
