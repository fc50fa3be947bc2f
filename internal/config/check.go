package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/plan"
)

// Checks is what a check of the configuration files needs beside them.
type Checks struct {
	Profiles func(command string) fs.FS // of a command that makes loads
	Kafka    Kafka
	Clients  func(*Run) error // returns what the clients of a load refuse
}

// checking is the state of a check of the configuration files. Each command loads its settings as in a run. What is wrong with
// one layer does not end it.
type checking struct {
	project, user *file
	layers        *layers // of the command that was loaded last
	errs          []error // of its layers
}

// typedLater stands for what a command needs beyond the files: a command line gives it.
var typedLater = settings{"bootstrap-server": {[]string{"localhost:9092"}, fromNobody}, "topic": {[]string{defaultTopic}, fromNobody}}

// passed keeps an error for a check of the files, which goes on. In a run it returns the error.
func (s System) passed(err error) error {
	if s.check == nil || err == nil {
		return err
	}
	s.check.errs = append(s.check.errs, err)
	return nil
}

// Check returns the names of the configuration files that there are, and everything that is wrong with them, by file and line:
// keys, values, and properties files of clusters. path is that of a file to check alone, "" for those that commands read.
func (c *Configure) Check(path string, sys System, with Checks) ([]string, error) {
	nearest := with.Kafka.Nearest
	sys.warnOfStrangers(nearest)
	project, user, err := sys.readFiles(cmp.Or(path, c.config), nearest)
	found := newMistakes(project, user)
	found.add("", flat(err))
	for _, command := range Commands() {
		found.add(command, found.of(command, sys, with))
	}
	var names []string
	if user != nil {
		names = append(names, user.name)
		for _, name := range slices.Sorted(maps.Keys(user.clusters)) {
			cluster := user.clusters[name]
			if _, err := cluster.readProperties(); err != nil {
				found.add("", []error{fmt.Errorf("%s: cluster %s: %w", cluster.Source, name, err)})
			}
		}
	}
	if project != nil {
		names = append(names, project.name)
	}
	return names, found.err()
}

// mistakes are what is wrong with configuration files, each once.
type mistakes struct {
	state *checking
	all   []mistake
}

// mistake is one of them.
type mistake struct {
	file     string // "": it is in no file
	line     int
	text     string
	commands []string // that have it
}

func newMistakes(project, user *file) *mistakes {
	return &mistakes{state: &checking{project: project, user: user}}
}

// of returns what is wrong with the settings of a command.
func (m *mistakes) of(command string, sys System, with Checks) []error {
	m.state.errs = nil
	sys.check, sys.Warn = m.state, nil
	if slices.Contains(commands, plan.Command(command)) && with.Profiles != nil {
		sys.Profiles = with.Profiles(command)
	}
	run, err := definitions()[command](pflag.NewFlagSet(command, pflag.ContinueOnError))(sys, with.Kafka)
	errs := flat(err)
	if run != nil {
		errs = append(errs, flat(with.Clients(run))...)
	}
	return append(m.state.errs, slices.DeleteFunc(errs, m.isOfCommandLine)...)
}

var (
	// aboutFlag matches an error that begins with its flag.
	aboutFlag = regexp.MustCompile(`^--([a-z][a-z.-]*)`)
	// hasSource matches the part of an error that names the source of a value.
	hasSource = regexp.MustCompile(`(?: \(from ([^()]+)\))|\bis from ([^()]+)\)`)
	// hasLine matches FILE:LINE.
	hasLine = regexp.MustCompile(`^(.+):([0-9]+)$`)
)

// isOfCommandLine reports whether an error is about what nobody has typed: no file and no variable holds it.
func (m *mistakes) isOfCommandLine(err error) bool {
	source := m.source(err.Error())
	return source == fromNobody || source == "" && strings.HasPrefix(err.Error(), "kt ")
}

// source returns where the value comes from that an error is about; "": the error does not say.
func (m *mistakes) source(text string) string {
	if s := hasSource.FindStringSubmatch(text); s != nil {
		return cmp.Or(s[1], s[2])
	}
	if f := aboutFlag.FindStringSubmatch(text); f != nil && m.state.layers != nil {
		return m.state.layers.sources[f[1]]
	}
	for _, f := range []*file{m.state.project, m.state.user} {
		if f == nil || !strings.HasPrefix(text, f.name+":") {
			continue
		}
		line, _, _ := strings.Cut(text[len(f.name)+1:], " ")
		return f.name + ":" + strings.TrimSuffix(line, ":")
	}
	return ""
}

// add adds errors of a command; "": of the files as such.
func (m *mistakes) add(command string, errs []error) {
	for _, err := range errs {
		one := mistake{text: strings.TrimPrefix(err.Error(), "--")}
		source := m.source(err.Error())
		if at := hasLine.FindStringSubmatch(source); at != nil {
			one.file = at[1]
			one.line, _ = strconv.Atoi(at[2]) // a number so long is no line
			one.text = strings.Replace(one.text, " (from "+source+")", "", 1)
			one.text = strings.TrimLeft(strings.TrimPrefix(one.text, source), ": ")
		}
		i := slices.IndexFunc(m.all, func(o mistake) bool { return o.file == one.file && o.line == one.line && o.text == one.text })
		if i < 0 {
			i, m.all = len(m.all), append(m.all, one)
		}
		if command != "" {
			m.all[i].commands = append(m.all[i].commands, command)
		}
	}
}

// err joins the mistakes in the order of files and lines. One that a single command has with a setting for all names the command.
func (m *mistakes) err() error {
	slices.SortStableFunc(m.all, func(a, b mistake) int {
		return cmp.Or(strings.Compare(a.file, b.file), cmp.Compare(a.line, b.line))
	})
	var errs []error
	for _, one := range m.all {
		text, place := one.text, ""
		if one.file != "" {
			place = one.file + ":" + strconv.Itoa(one.line)
		}
		if len(one.commands) == 1 && !m.inSection(place) {
			text = "kt " + one.commands[0] + ": " + text
		}
		if place != "" {
			text = place + ": " + text
		}
		errs = append(errs, errors.New(text))
	}
	return errors.Join(errs...)
}

// inSection reports whether a setting stands in the section of a command.
func (m *mistakes) inSection(place string) bool {
	for _, f := range []*file{m.state.project, m.state.user} {
		if f == nil {
			continue
		}
		for _, section := range f.sections {
			for _, s := range section {
				if s.source == place {
					return true
				}
			}
		}
	}
	return false
}
