package jvm

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Flags are the options of a java command line that matter to Kafka.
type Flags struct {
	Xmx, Xms int64             // bytes; 0: not set
	XX       map[string]string // "UseG1GC": "true", "MaxGCPauseMillis": "20"
	D        map[string]string // system properties
	GCLog    string            // where -Xlog:gc* or -Xloggc writes: a file, "stdout" or "stderr"; "" for none
	Main     string            // the class: "kafka.Kafka"; of -jar the file, of -m the module
	MainArgs []string          // what follows it
}

// withArgument are the options of the java launcher whose value is the next word.
var withArgument = []string{
	"-cp", "-classpath", "--class-path", "-p", "--module-path", "--upgrade-module-path",
	"--add-modules", "--limit-modules", "--add-reads", "--add-exports", "--add-opens",
	"--patch-module", "--enable-native-access", "--source", "-d", "--describe-module",
}

// programOptions are the options whose value is the program.
var programOptions = []string{"-jar", "-m", "--module"}

// ParseFlags reads a command line, its first word being java. Of an option that is
// given twice the last one counts, as for the JVM. What it does not know, or a size
// that is none, it leaves out: the JVM runs, so the line was good for it.
func ParseFlags(line []string) Flags {
	return new(Perf).Flags(line)
}

// Flags returns the options that a JVM publishes, or those of its command line, see [Complete], where it publishes none. They
// are published as one text: a command line tells where an option with spaces ends.
func (p *Perf) Flags(line []string) Flags {
	l := launch{file: func(string, bool) []string { return nil }}
	for _, word := range line[min(1, len(line)):] {
		l.add(word)
	}
	f := Flags{XX: make(map[string]string), D: make(map[string]string)}
	if len(l.program) > 0 && slices.Contains(programOptions, l.program[0]) {
		l.program = l.program[1:]
	}
	if len(l.program) > 0 {
		f.Main, f.MainArgs = strings.TrimPrefix(l.program[0], "--module="), l.program[1:]
	}
	file, _ := p.Values["java.rt.vmFlags"].(string)
	for _, flag := range strings.Fields(file) {
		f.xx(flag)
	}
	text, published := p.Values["java.rt.vmArgs"].(string)
	cut := len(text) >= mostPublished
	if cut {
		text = text[:strings.LastIndexByte(text, ' ')+1]
	}
	for text = strings.TrimSpace(text); text != ""; {
		option, _, _ := strings.Cut(text, " ")
		for _, o := range l.options {
			if len(o) > len(option) && strings.HasPrefix(text+" ", o+" ") {
				option = o
			}
		}
		f.option(option)
		text = strings.TrimSpace(text[len(option):])
	}
	for _, o := range l.options {
		if cut || !published { // those that were cut off come last
			f.option(o)
		}
	}
	return f
}

// mostPublished is the length to which a JVM cuts a text that it publishes: PerfMaxStringConstLength.
const mostPublished = 1024

func (f *Flags) option(arg string) {
	if value, ok := strings.CutPrefix(arg, "-XX:"); ok {
		f.xx(value)
		return
	}
	if value, ok := strings.CutPrefix(arg, "-D"); ok {
		name, v, _ := strings.Cut(value, "=")
		f.D[name] = v
		return
	}
	if file, ok := strings.CutPrefix(arg, "-Xloggc:"); ok {
		f.GCLog = file
		return
	}
	switch {
	case arg == "-verbose:gc":
		f.GCLog = "stdout"
	case arg == "-Xlog" || strings.HasPrefix(arg, "-Xlog:"):
		f.log(strings.TrimPrefix(strings.TrimPrefix(arg, "-Xlog"), ":"))
	default:
		setSize(&f.Xmx, arg, "-Xmx", "-mx")
		setSize(&f.Xms, arg, "-Xms", "-ms")
	}
}

// setSize sets a size if an option is one of names with a size behind it.
func setSize(to *int64, arg string, names ...string) {
	for _, name := range names {
		if value, ok := strings.CutPrefix(arg, name); ok {
			if n, ok := Size(value); ok {
				*to = n
			}
		}
	}
}

// xx reads the text after -XX: as "+UseG1GC", "-UsePerfData" or "MaxGCPauseMillis=20".
func (f *Flags) xx(text string) {
	switch {
	case strings.HasPrefix(text, "+"):
		f.XX[text[1:]] = "true"
	case strings.HasPrefix(text, "-"):
		f.XX[text[1:]] = "false"
	default:
		name, value, _ := strings.Cut(text, "=")
		f.XX[name] = value
		switch n, ok := Size(value); {
		case ok && name == "MaxHeapSize":
			f.Xmx = n
		case ok && name == "InitialHeapSize":
			f.Xms = n
		}
	}
}

// Size reads "512m" as the JVM does: k, m, g and t are powers of 1024.
func Size(text string) (int64, bool) {
	if text == "" {
		return 0, false
	}
	shift := 0
	if i := strings.IndexByte("kmgt", text[len(text)-1]|0x20); i >= 0 { // |0x20: in lower case
		shift, text = 10*(i+1), text[:len(text)-1]
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil || n > math.MaxInt64>>shift {
		return 0, false
	}
	return int64(n) << shift, true
}

// log reads the text after -Xlog: as WHAT:OUTPUT:DECORATIONS:OPTIONS, see java(1). A name in quotation marks may have colons in it.
func (f *Flags) log(text string) {
	if text == "disable" {
		f.GCLog = ""
		return
	}
	what, rest, _ := strings.Cut(text, ":")
	logs := what == "" // everything
	for selection := range strings.SplitSeq(what, ",") {
		tags, level, _ := strings.Cut(selection, "=")
		if tags = strings.TrimSuffix(tags, "*"); tags == "gc" || tags == "all" { // the tag alone, not "gc+heap"
			logs = level != "off" && level != "warning" && level != "error"
		}
	}
	if !logs {
		return
	}
	rest, end := strings.TrimPrefix(rest, "file="), ":"
	if quoted, ok := strings.CutPrefix(rest, `"`); ok {
		rest, end = quoted, `"`
	}
	output, _, _ := strings.Cut(rest, end)
	names := map[string]string{"": "stdout", "#0": "stdout", "#1": "stderr"}
	f.GCLog = cmp.Or(names[output], output)
}
