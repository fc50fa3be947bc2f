package study

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/plan"
)

// Cell is one choice of values: one for each factor, in the order of the factors.
type Cell struct {
	Index int
	At    []Flag

	called string // "": by its values
}

// String returns what a cell is called: "partitions=4 acks=all".
func (c Cell) String() string {
	if c.called != "" {
		return c.called
	}
	var parts []string
	for _, f := range c.At {
		parts = append(parts, f.Name+"="+f.Value)
	}
	return strings.Join(parts, " ")
}

func (s *Study) factorNames() (names []string) {
	for _, f := range s.Factors {
		names = append(names, f.Name)
	}
	return names
}

// Cells returns every choice of values: the last factor varies fastest. Without factors there is one.
func (s *Study) Cells() (cells []Cell) {
	if s.Trial != nil {
		return s.Trial.cells()
	}
	all := [][]Flag{nil}
	if s.Pair && len(s.Factors) > 0 {
		all = make([][]Flag, len(s.Factors[0].Values))
	}
	for _, f := range s.Factors {
		var longer [][]Flag
		for i, at := range all {
			for j, v := range f.values() {
				if !s.Pair || i == j {
					longer = append(longer, append(slices.Clone(at), Flag{f.Name, v}))
				}
			}
		}
		all = longer
	}
	for i, at := range all {
		cells = append(cells, Cell{Index: i, At: at})
	}
	return cells
}

// at returns a load with the values of a cell that are of it. A prepared load has those that name it alone.
func (s *Study) at(c Cell, l Load) Load {
	l.Flags = slices.Clone(l.Flags)
	for _, f := range c.At {
		load, flag := s.target(f.Name)
		isOf := load == l.Name || load == "" && !s.isPrepared(l.Name)
		if isOf && !isOutside(flag) && (f.Value != Default || hasPrefix(flag, topicPrefix)) {
			l.set(flag, f.Value)
		}
	}
	l.fit(s.Bytes)
	return l
}

// prepared returns what a prepared load with the values of a cell is called: one is made for each of its values.
func (s *Study) prepared(c Cell, l Load) string {
	name := l.Name
	for _, f := range c.At {
		if load, _ := s.target(f.Name); load == l.Name {
			name += "-" + f.Value
		}
	}
	return name
}

// set returns the values that are no defaults.
func set(at []Flag) []Flag {
	return slices.DeleteFunc(slices.Clone(at), func(f Flag) bool { return f.Value == Default })
}

// values returns the values of a cell by the factors.
func (c Cell) values() map[string]string {
	at := make(map[string]string)
	for _, f := range c.At {
		at[f.Name] = f.Value
	}
	return at
}

// target returns the load that a factor is of, and its flag. load is empty for all loads of a run.
func (s *Study) target(factor string) (load, flag string) {
	before, after, ok := strings.Cut(factor, ".")
	if ok && slices.ContainsFunc(s.loads(), func(l *Load) bool { return l.Name == before }) {
		return before, after
	}
	return "", factor
}

// fit gives a load that writes as many records as have some bytes of values; 0 bytes: it stays as it is.
func (l *Load) fit(bytes int64) {
	size, err := plan.ParseSize(cmp.Or(l.value("record-size"), strconv.Itoa(plan.DefaultRecordSize)))
	if bytes == 0 || l.Command == "consume" || err != nil { // CheckLoads tells the error
		return
	}
	l.drop("duration")
	l.set("num-records", strconv.FormatInt(max(1, int64(float64(bytes)/size.Mean())), 10))
}

// set gives a flag a value instead of those that it has. A topic setting is one of several. Where a load is to be made on a
// number of hosts, the first ones of --on are left; when it names fewer, the run refuses to begin.
func (l *Load) set(name, value string) {
	if setting, ok := strings.CutPrefix(name, topicPrefix); ok {
		l.Flags = slices.DeleteFunc(l.Flags, func(f Flag) bool { return f.Name == "topic-config" && strings.HasPrefix(f.Value, setting+"=") })
		if value != Default {
			l.Flags = append(l.Flags, Flag{"topic-config", setting + "=" + value})
		}
		return
	}
	n, err := plan.ParseCount(value)
	for i := range l.Flags {
		f := &l.Flags[i]
		if hosts := strings.Split(f.Value, ","); name == "hosts" && f.Name == "on" && err == nil && n >= 1 && int(n) <= len(hosts) {
			f.Value = strings.Join(hosts[:n], ",")
		}
	}
	l.drop(name)
	l.Flags = append(l.Flags, Flag{name, value})
}
