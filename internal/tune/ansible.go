package tune

import (
	"bytes"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

const ansibleHeader = "# Managed by kt tune --ansible: do not edit. Removing it undoes it.\n"

const ansibleStart = `# Written by kt tune --ansible: what kt tune --apply would do on the machine that it
# was written on. It needs the collection ansible.posix, and may be run again.
`

// The parts of a playbook, in the order in which they are written.
type (
	play struct {
		Name     string         `yaml:"name"`
		Hosts    string         `yaml:"hosts"`
		Become   bool           `yaml:"become"`
		Facts    bool           `yaml:"gather_facts"`
		Vars     map[string]raw `yaml:"vars,omitempty"`
		Tasks    []task         `yaml:"tasks"`
		Handlers []task         `yaml:"handlers,omitempty"`
	}
	task struct {
		Name        raw            `yaml:"name"`
		Sysctl      *sysctlTask    `yaml:"ansible.posix.sysctl,omitempty"`
		File        *fileTask      `yaml:"ansible.builtin.file,omitempty"`
		Copy        *copyTask      `yaml:"ansible.builtin.copy,omitempty"`
		Shell       *shellTask     `yaml:"ansible.builtin.shell,omitempty"`
		Command     *commandTask   `yaml:"ansible.builtin.command,omitempty"`
		Systemd     *systemdTask   `yaml:"ansible.builtin.systemd,omitempty"`
		Environment map[string]raw `yaml:"environment,omitempty"`
		Register    string         `yaml:"register,omitempty"`
		ChangedWhen string         `yaml:"changed_when,omitempty"`
		Notify      string         `yaml:"notify,omitempty"`
	}
	sysctlTask struct {
		Name   raw    `yaml:"name"`
		Value  raw    `yaml:"value"`
		File   string `yaml:"sysctl_file"`
		Set    bool   `yaml:"sysctl_set"`
		State  string `yaml:"state"`
		Reload bool   `yaml:"reload"`
	}
	fileTask struct {
		Path  raw    `yaml:"path"`
		State string `yaml:"state"`
		Mode  string `yaml:"mode"`
	}
	copyTask struct {
		Dest    raw    `yaml:"dest"`
		Content raw    `yaml:"content"`
		Owner   string `yaml:"owner"`
		Group   string `yaml:"group"`
		Mode    string `yaml:"mode"`
	}
	shellTask struct {
		Command string `yaml:"cmd"`
	}
	commandTask struct {
		Command string `yaml:"cmd"`
	}
	systemdTask struct {
		Reload bool `yaml:"daemon_reload"`
	}
)

// raw is a text that Ansible is to take as it is: braces in it are no template.
type raw string

// MarshalYAML marks a text in which Ansible would see a template.
func (r raw) MarshalYAML() (any, error) {
	s := string(r)
	if strings.Contains(s, "{{") || strings.Contains(s, "{%") || strings.Contains(s, "{#") {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!unsafe", Value: s, Style: yaml.DoubleQuotedStyle}, nil
	}
	return s, nil
}

const (
	reloadUnits = "Read the units again"
	reloadRules = "Read the udev rules again"
)

// Ansible writes changes as a playbook. It sets values whatever they were before, for
// it may be played on other machines; what is about a process that runs here is left
// out, and named in a comment. Writing it changes nothing.
func Ansible(w io.Writer, changes []Change, o ApplyOptions) error {
	if err := checkChanges(changes); err != nil {
		return err
	}
	p := play{Name: "Make a machine fit for Apache Kafka", Hosts: "all", Become: true}
	files := new(journal).merge(changes)
	if o.Later() {
		p.Tasks = append(p.Tasks, sysctlTasks(changes, files, o)...)
	}
	text := ansibleStart
	if o.Now() {
		for i := range changes {
			c := &changes[i]
			if c.Kind == Prlimit {
				text += fmt.Sprintf("# Not in it: %s of process %d, which gets it when it starts again.\n", c.Setting, c.PID)
			}
			if t, ok := valueTask(c, o); ok {
				p.Vars = map[string]raw{"kt_functions": raw(scriptFunctions + scriptMount)}
				p.Tasks = append(p.Tasks, t)
			}
		}
	}
	if o.Later() {
		p.Tasks = append(p.Tasks, copyTasks(files)...)
		p.Handlers = handlers(files)
	}
	b := bytes.NewBufferString(text)
	e := yaml.NewEncoder(b)
	e.SetIndent(2)
	if err := e.Encode([]play{p}); err != nil {
		return fmt.Errorf("write playbook: %w", err)
	}
	if err := e.Close(); err != nil {
		return fmt.Errorf("write playbook: %w", err)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// sysctlTasks set kernel settings for the next start, and now if that is asked for.
func sysctlTasks(changes []Change, files []*ownFile, o ApplyOptions) []task {
	var tasks []task
	for _, f := range files {
		if f.Path != SysctlFile {
			continue
		}
		for _, l := range f.Lines {
			key, value, _ := strings.Cut(l.Text, "=")
			key, value = strings.TrimSpace(key), strings.TrimSpace(value)
			now := o.Now() && slices.ContainsFunc(changes, func(c Change) bool {
				return c.Kind == WriteFile && slices.Contains(c.Keep, Line{f.Path, l.Text, l.Head})
			})
			tasks = append(tasks, task{
				Name:   raw(key + " = " + value),
				Sysctl: &sysctlTask{Name: raw(key), Value: raw(value), File: SysctlFile, Set: now, State: "present"},
			})
		}
	}
	return tasks
}

// valueTask gives a value now, where no other task does.
func valueTask(c *Change, o ApplyOptions) (task, bool) {
	t := task{
		Name:        raw(c.Path + ": " + c.New),
		Register:    "kt_result",
		ChangedWhen: "kt_result.stdout.startswith('changed')",
	}
	call := ""
	switch c.Kind {
	case WriteFile:
		if o.Later() && slices.ContainsFunc(c.Keep, func(l Line) bool { return l.File == SysctlFile }) {
			return t, false
		}
		call = `kt_write "$KT_PATH" "" "$KT_NEW"`
		t.Environment = map[string]raw{"KT_PATH": raw(c.Path), "KT_NEW": raw(normal(c.New)), "KT_FORCE": "1"}
	case Remount:
		call = `kt_remount "$KT_PATH" "$KT_ESCAPED" "$KT_NEW" "$KT_OPTION"`
		t.Environment = map[string]raw{
			"KT_PATH": raw(c.Path), "KT_ESCAPED": raw(mountEscape(c.Path)), "KT_NEW": raw(c.New), "KT_OPTION": raw(mountOption(c.New)),
		}
	case Prlimit, KeepOnly:
		return t, false
	}
	t.Shell = &shellTask{"{{ kt_functions }}\n" + call + "\nexit \"$kt_status\"\n"}
	return t, true
}

// copyTasks write kt's own files, but for the one that sysctlTasks fill.
func copyTasks(files []*ownFile) []task {
	var tasks []task
	for _, f := range files {
		if f.Path == SysctlFile {
			continue
		}
		dir := path.Dir(f.Path)
		tasks = append(tasks,
			task{Name: raw(dir), File: &fileTask{Path: raw(dir), State: "directory", Mode: "0755"}},
			task{
				Name: raw(f.Path),
				Copy: &copyTask{Dest: raw(f.Path), Content: raw(f.content(ansibleHeader)), Owner: "root", Group: "root", Mode: "0644"},
			})
		switch last := &tasks[len(tasks)-1]; {
		case isDropIn(f):
			last.Notify = reloadUnits
		case isUdevRule(f):
			last.Notify = reloadRules
		}
	}
	return tasks
}

// handlers let those programs read kt's files that do not do it by themselves.
func handlers(files []*ownFile) []task {
	var all []task
	if slices.ContainsFunc(files, isDropIn) {
		all = append(all, task{Name: reloadUnits, Systemd: &systemdTask{Reload: true}})
	}
	if slices.ContainsFunc(files, isUdevRule) {
		all = append(all, task{Name: reloadRules, Command: &commandTask{"udevadm control --reload"}, ChangedWhen: "true"})
	}
	return all
}
