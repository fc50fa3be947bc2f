package tune

import "strconv"

// check looks at a machine. It changes nothing, and never fails: what it may not read is [Denied] or [Absent].
type check func(m *Machine, want Rule) Reading

// Read is how a row reads its value without a function. One of the first fields is set.
type Read struct {
	Sysctl   int    `yaml:"sysctl"`   // so many whole numbers of the kernel setting that the row is named after
	Property string `yaml:"property"` // a name in server.properties: a number if Unset is one, else a word
	G1       string `yaml:"g1"`       // a flag of the JVM that is a number

	File   string `yaml:"file"`   // of the tree; with a * in it each of several, which are judged together
	Offers string `yaml:"offers"` // the file beside it with the words that kt may write there

	Unset     string `yaml:"unset"`          // the value where nothing is set
	Before4   string `yaml:"unset_before_4"` // the same before Kafka 4
	Floor     string `yaml:"floor"`          // of [floors]: the least value on this machine
	Unit      string `yaml:"unit"`           // of what is shown
	Milder    string `yaml:"milder"`         // a rule: values for which it holds, or after ! does not, are only noted
	IfCounted string `yaml:"if_counted"`     // judged only where /proc/net/softnet_stat counts this,
	What      string `yaml:"what"`           // which means so many of that

	As      map[string]string `yaml:"as"`      // other words for some values
	Beside  string            `yaml:"beside"`  // another kernel setting, which a note tells
	Command string            `yaml:"command"` // what to run where it is not as wanted; %s: what to set
	Missing string            `yaml:"missing"` // why a machine does not have it,
	Virtual string            `yaml:"virtual"` // and why a virtual one has not
}

// of makes the check of a row, nil where it says no way to read.
func (r Read) of(s *Setting) check {
	switch _, err := strconv.Atoi(r.Unset); {
	case r.IfCounted != "":
		return s.ifCounted
	case r.Sysctl > 0:
		return s.kernel
	case r.File != "":
		return s.files
	case r.Property != "" && err == nil:
		return countCheck(r, s.verdict())
	case r.Property != "":
		return wordCheck(r.Property, r.Unset, s.verdict())
	case r.G1 != "":
		return g1Flag(r)
	}
	return nil
}

// wants are what a row may need to be checked at all, and where that is read.
var wants = map[string]struct {
	met   func(check) check
	reads []string
}{
	"":       {func(f check) check { return f }, nil},
	"jvm":    {ofJVM, nil},
	"flags":  {ofFlags, []string{"/proc/PID/{cmdline,environ}, /tmp/hsperfdata_USER/PID"}},
	"perf":   {func(f check) check { return ofJVM(ofPerf(f)) }, []string{"/tmp/hsperfdata_USER/PID"}},
	"config": {needsConfig, []string{"server.properties"}},
	"broker": {ofBroker, []string{"server.properties"}},
}
