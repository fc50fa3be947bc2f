package tune

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/google/go-cmp/cmp"
)

// playbook writes a playbook and reads it again.
func playbook(t *testing.T, changes []Change, o ApplyOptions) (p play, text string) {
	t.Helper()
	var b bytes.Buffer
	if err := Ansible(&b, changes, o); err != nil {
		t.Fatalf("Ansible: %v", err)
	}
	text = b.String()
	d := yaml.NewDecoder(&b)
	d.KnownFields(true)
	var plays []play
	if err := d.Decode(&plays); err != nil || len(plays) != 1 {
		t.Fatalf("the playbook has %d plays, %v:\n%s", len(plays), err, text)
	}
	return plays[0], text
}

// taskNames are the names of tasks, with the module of each.
func taskNames(tasks []task) []string {
	var names []string
	for _, k := range tasks {
		module := ""
		for name, has := range map[string]bool{
			"sysctl": k.Sysctl != nil, "file": k.File != nil, "copy": k.Copy != nil,
			"shell": k.Shell != nil, "command": k.Command != nil, "systemd": k.Systemd != nil,
		} {
			if has {
				module += name
			}
		}
		names = append(names, module+" "+string(k.Name))
	}
	return names
}

func TestAPlaybookHasATaskForEveryChange(t *testing.T) {
	sysctls := []string{"sysctl vm.swappiness = 1", "sysctl net.ipv4.tcp_rmem = 4096 131072 16777216", "sysctl vm.dirty_bytes = 8589934592"}
	values := []string{"shell " + hugePagesFile + ": madvise", "shell " + schedulerFile + ": none", "shell /data/kafka1: noatime"}
	files := []string{
		"file /etc/tmpfiles.d", "copy " + TmpfilesFile, "file /etc/udev/rules.d", "copy " + UdevFile,
		"file /etc/systemd/system/kafka.service.d", "copy " + DropIn("kafka.service"),
	}
	for _, row := range []struct {
		name    string
		options ApplyOptions
		want    []string
		set     bool // the sysctls now
	}{
		{"now and for later", ApplyOptions{}, slices.Concat(sysctls, values, files), true},
		{"for later", ApplyOptions{Persist: true}, slices.Concat(sysctls, files), false},
		{"now", ApplyOptions{Runtime: true}, slices.Concat([]string{
			"shell " + swappinessFile + ": 1", "shell " + tcpRmemFile + ": 4096 131072 16777216", "shell " + dirtyBytesFile + ": 8589934592",
		}, values), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			p, text := playbook(t, planOfAll(), row.options)
			if d := cmp.Diff(row.want, taskNames(p.Tasks)); d != "" {
				t.Errorf("the playbook's tasks (-want +got):\n%s\n%s", d, text)
			}
			for _, k := range p.Tasks {
				if k.Sysctl != nil && k.Sysctl.Set != row.set {
					t.Errorf("%s sets the value now: %t, want %t", k.Name, k.Sysctl.Set, row.set)
				}
				if k.Shell != nil && (k.Register == "" || k.ChangedWhen == "") {
					t.Errorf("%s does not say when it changed something", k.Name)
				}
				if k.Notify != "" && !slices.ContainsFunc(p.Handlers, func(h task) bool { return string(h.Name) == k.Notify }) {
					t.Errorf("%s notifies %q, and there is no such handler", k.Name, k.Notify)
				}
			}
			if got := strings.Contains(text, "# Not in it: limits.nofile of process 4711"); got == (row.name == "for later") {
				t.Errorf("the playbook names the process: %t\n%s", got, text)
			}
		})
	}
}

// TestTheShellOfAPlaybookWorks runs what Ansible would run, after putting in the
// functions as it would.
func TestTheShellOfAPlaybookWorks(t *testing.T) {
	tree, _ := machineTree(t)
	putText(t, tree.root, swappinessFile, "40\n") // not what it was on the machine of the playbook
	p, _ := playbook(t, planOfAll(), ApplyOptions{Runtime: true})
	for _, want := range []string{"changed ", "unchanged "} {
		for _, k := range p.Tasks {
			cmd := exec.Command(shell(t), "-c", strings.Replace(k.Shell.Command, "{{ kt_functions }}", string(p.Vars["kt_functions"]), 1))
			cmd.Env = append(os.Environ(), "KT_ROOT="+tree.root)
			for name, value := range k.Environment {
				cmd.Env = append(cmd.Env, name+"="+string(value))
			}
			out, err := cmd.CombinedOutput()
			said := want
			if strings.HasPrefix(string(k.Name), "/data/kafka1") {
				said = "skipped "
			}
			if err != nil || !strings.HasPrefix(string(out), said) {
				t.Errorf("%s: %v, %q; want it to say %q", k.Name, err, out, said)
			}
		}
	}
	if got := readText(t, tree.root, swappinessFile); got != "1\n" {
		t.Errorf("%s is %q, want %q", swappinessFile, got, "1\n")
	}
}

func TestTemplatesInAPlaybookAreTakenAsTheyAre(t *testing.T) {
	c := Change{Setting: "a", Kind: KeepOnly, Keep: []Line{{File: UdevFile, Text: `ATTR{x}="{{ lookup('pipe', 'id') }}" # yes: "no"`}}}
	p, text := playbook(t, []Change{c}, ApplyOptions{})
	if !strings.Contains(text, "content: !unsafe ") {
		t.Errorf("the playbook does not mark the text with braces:\n%s", text)
	}
	if got := string(p.Tasks[1].Copy.Content); !strings.HasSuffix(got, "\n"+c.Keep[0].Text+"\n") {
		t.Errorf("the content is\n%s\nwant at its end\n%s", got, c.Keep[0].Text)
	}
	for _, functions := range []string{scriptFunctions, scriptMount} {
		for _, mark := range []string{"{{", "{%", "{#"} {
			if strings.Contains(functions, mark) {
				t.Errorf("the functions have %q, which Ansible takes for a template", mark)
			}
		}
	}
}
