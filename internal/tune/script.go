package tune

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// scriptHeader begins the files that a script makes, which no journal knows.
const scriptHeader = "# Managed by kt tune --script: do not edit. Removing it undoes it.\n"

// The functions of the shell that the rest of a script calls. They read before they write, as Apply does. Those for
// processes and mounts are only in scripts that change some.
var (
	//go:embed script/start.sh
	scriptStart string
	//go:embed script/limit.sh
	scriptLimit string
	//go:embed script/mount.sh
	scriptMount string
)

// otherOptions has sed take from the options of a mount how access times are kept. That it is idmapped stays by itself.
const otherOptions = "s/,noatime//; s/,relatime//; s/,idmapped//"

// reloads are the commands that let systemd and udev see new files, the folder that is there while they run, and that of the files.
var reloads = []struct{ command, running, files string }{
	{"systemctl daemon-reload", "/run/systemd/system", "/etc/systemd/system/"},
	{"udevadm control --reload", "/run/udev", "/etc/udev/rules.d/"},
}

// Script writes changes as a script for any POSIX shell, which does what Apply would do, and says at its end how to undo it. What
// the kernel refuses it keeps for the next start all the same. Writing it changes nothing.
func Script(w io.Writer, changes []Change, o ApplyOptions) error {
	if err := checkChanges(changes); err != nil {
		return err
	}
	text, now, back := scriptStart, "\n# Now.\n", ""
	functions := map[Kind]string{Prlimit: "\n" + scriptLimit, Remount: "\n" + scriptMount}
	for i := range changes {
		do, undo := scriptLines(&changes[i])
		now, back = functions[changes[i].Kind]+now+do, undo+back
		functions[changes[i].Kind] = "" // once
	}
	if o.Now() {
		text += now
	} else {
		back = ""
	}
	var later, drop, folders string
	if o.Later() {
		later, drop, folders = scriptFiles(new(journal).merge(changes))
	}
	_, err := io.WriteString(w, text+later+"\n# To undo it:\n"+drop+back+folders+"\nexit \"$kt_status\"\n")
	return err
}

// scriptFiles are the lines that make kt's own files, and as comments those that remove them, and their folders.
func scriptFiles(files []*ownFile) (later, drop, folders string) {
	if len(files) == 0 {
		return "", "", ""
	}
	later, folders = "\n# For the next start.\n", "# And of these folders the ones that it said it made:\n"
	for _, f := range files {
		later += fmt.Sprintf("kt_own %s <<'KT_END'\n%sKT_END\n", quote(f.Path), f.content(scriptHeader))
		drop += "#   rm -f " + quote(f.Path) + "\n"
		line := "#   rmdir"
		for dir := path.Dir(f.Path); strings.HasPrefix(dir, "/etc/"); dir = path.Dir(dir) {
			line += " " + quote(dir)
		}
		if !strings.Contains(folders, line+"\n") {
			folders += line + "\n"
		}
	}
	for _, r := range reloads {
		if slices.ContainsFunc(files, func(f *ownFile) bool { return strings.HasPrefix(f.Path, r.files) }) {
			later += fmt.Sprintf("if [ -z \"$KT_ROOT$KT_CHECK\" ] && [ -d %s ]; then\n\t%s || kt_failed '%s'\nfi\n", r.running, r.command, r.command)
			drop += "#   " + r.command + "\n"
		}
	}
	return later, drop, folders
}

// scriptLines are the line that makes a change, and as comments those that undo it; "" for one that is only for later.
func scriptLines(c *Change) (do, undo string) {
	old, now, file := normal(c.Old), normal(c.New), quote(c.Path)
	switch c.Kind {
	case WriteFile:
		do = fmt.Sprintf("kt_write %s %s %s\n", file, quote(old), quote(now))
		if c.Pair != "" && old == "0" {
			old, file = normal(c.PairOld), quote(c.Pair)
		}
		return do, fmt.Sprintf("#   printf '%%s\\n' %s >%s\n", quote(old), file)
	case Prlimit:
		soft, hard, _ := strings.Cut(now, " ")
		return fmt.Sprintf("kt_limit %d %d %s %s\n", c.PID, c.Start, quote(soft), quote(hard)),
			fmt.Sprintf("#   prlimit --pid %d --nofile=%s\n", c.PID, quote(strings.Replace(old, " ", ":", 1)))
	case Remount: // in mountinfo some characters of a mount point are octal numbers
		return fmt.Sprintf("kt_remount %s %s %s %s\n", file, quote(strings.NewReplacer(" ", `\040`, `\`, `\134`).Replace(c.Path)), quote(now), mountOption(now)),
			fmt.Sprintf("#   kt_others=$(findmnt -nro VFS-OPTIONS -M %s | sed '$!d; %s')\n"+
				"#   mount -o \"remount,bind,${kt_others:?},%s\" %s\n", file, otherOptions, mountOption(old), file)
	case KeepOnly:
	}
	return "", ""
}

// quote is a text as one word of the shell, whatever is in it.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// mountOption returns the option for mount(8): noatime wins over relatime, and atime takes that one away.
func mountOption(atime string) string {
	if atime == "noatime" {
		return atime
	}
	return "atime," + atime
}

const ansibleStart = `# Written by kt tune --ansible: each host runs what kt tune --script writes. It may be played again.
# A process that runs on the machine of this play gets its limits when it starts again.
`

// play is a playbook of one task.
type play struct {
	Name   string        `yaml:"name"`
	Hosts  string        `yaml:"hosts"`
	Become bool          `yaml:"become"`
	Facts  bool          `yaml:"gather_facts"`
	Tasks  []ansibleTask `yaml:"tasks"`
}

type ansibleTask struct {
	Name    string `yaml:"name"`
	Command struct {
		Words []string  `yaml:"argv,flow"`
		Stdin yaml.Node `yaml:"stdin"`
	} `yaml:"ansible.builtin.command"`
	Environment map[string]string `yaml:"environment"`
	CheckMode   bool              `yaml:"check_mode"` // false: it runs in check mode, too
	Register    string            `yaml:"register"`
	ChangedWhen string            `yaml:"changed_when"`
}

// Ansible writes changes as a playbook that runs their script. It sets values whatever they were before, for it may be
// played on other machines. For the same reason it leaves the processes that run here alone. Writing it changes nothing.
func Ansible(w io.Writer, changes []Change, o ApplyOptions) error {
	changes = slices.Clone(changes)
	for i := range changes {
		if changes[i].Kind == Prlimit {
			changes[i].Kind = KeepOnly
		}
	}
	var script strings.Builder
	if err := Script(&script, changes, o); err != nil {
		return err
	}
	t := ansibleTask{
		Name: "Run what kt tune --script writes", Environment: map[string]string{"KT_FORCE": "1", "KT_CHECK": "{{ ansible_check_mode | ternary('1', '') }}"},
		Register: "kt", ChangedWhen: `kt.stdout is search("(?m)^(changed|made|would change) ")`,
	}
	t.Command.Words = []string{"sh", "-s"}
	t.Command.Stdin = yaml.Node{Kind: yaml.ScalarNode, Tag: "!unsafe", Style: yaml.LiteralStyle, Value: script.String()} // braces in it are no template
	b := bytes.NewBufferString(ansibleStart)
	e := yaml.NewEncoder(b)
	e.SetIndent(2)
	if err := e.Encode([]play{{Name: "Make a machine fit for Apache Kafka", Hosts: "all", Become: true, Tasks: []ansibleTask{t}}}); err != nil {
		return fmt.Errorf("write playbook: %w", err)
	}
	_, err := w.Write(b.Bytes())
	return err
}
