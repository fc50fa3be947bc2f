package jvm

import (
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

// ParseFlags reads a command line, its first word being java. Of an option that is
// given twice the last one counts, as for the JVM. What it does not know, or a size
// that is none, it leaves out: the JVM runs, so the line was good for it.
func ParseFlags(args []string) Flags {
	f := Flags{XX: make(map[string]string), D: make(map[string]string)}
	for i := 1; i < len(args); i++ {
		switch arg := args[i]; {
		case slices.Contains([]string{"-jar", "-m", "--module"}, arg):
			f.main(args[i+1:])
			return f
		case strings.HasPrefix(arg, "--module="):
			f.main(append([]string{strings.TrimPrefix(arg, "--module=")}, args[i+1:]...))
			return f
		case slices.Contains(withArgument, arg):
			i++
		case strings.HasPrefix(arg, "-"):
			f.option(arg)
		case strings.HasPrefix(arg, "@"): // a file of more arguments
		default:
			f.main(args[i:])
			return f
		}
	}
	return f
}

func (f *Flags) main(words []string) {
	if len(words) > 0 {
		f.Main, f.MainArgs = words[0], words[1:]
	}
}

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
			if n, ok := size(value); ok {
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
		switch n, ok := size(value); {
		case ok && name == "MaxHeapSize":
			f.Xmx = n
		case ok && name == "InitialHeapSize":
			f.Xms = n
		}
	}
}

// size reads "512m" as the JVM does: k, m, g and t are powers of 1024.
func size(text string) (int64, bool) {
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

// log reads the text after -Xlog: as WHAT:OUTPUT:DECORATIONS:OPTIONS, see java(1).
func (f *Flags) log(text string) {
	if text == "disable" {
		f.GCLog = ""
		return
	}
	what, rest, _ := strings.Cut(text, ":")
	if !logsGC(what) {
		return
	}
	switch output := logOutput(rest); output {
	case "", "stdout", "#0":
		f.GCLog = "stdout"
	case "stderr", "#1":
		f.GCLog = "stderr"
	default:
		f.GCLog = output
	}
}

// logsGC reports whether collections are among what is logged: in a list such as
// "gc*=debug,safepoint" something that begins with the tag gc alone, or with all.
func logsGC(what string) bool {
	if what == "" {
		return true // everything
	}
	logs := false
	for selection := range strings.SplitSeq(what, ",") {
		tags, level, _ := strings.Cut(selection, "=")
		if tags = strings.TrimSuffix(tags, "*"); tags == "gc" || tags == "all" {
			logs = level != "off" && level != "warning" && level != "error"
		}
	}
	return logs
}

// logOutput returns the output at the beginning of what follows the selection. A name in
// quotation marks may have colons in it.
func logOutput(rest string) string {
	rest = strings.TrimPrefix(rest, "file=")
	if quoted, ok := strings.CutPrefix(rest, `"`); ok {
		name, _, _ := strings.Cut(quoted, `"`)
		return name
	}
	name, _, _ := strings.Cut(rest, ":")
	return name
}
