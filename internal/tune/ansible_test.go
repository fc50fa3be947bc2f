package tune

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/kt-bench/kt/internal/must"
)

// playbook writes a playbook and returns its only task, and its text.
func playbook(t *testing.T, changes []Change, o ApplyOptions) (ansibleTask, string) {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, Ansible(&b, changes, o))
	text := b.String()
	d := yaml.NewDecoder(&b)
	d.KnownFields(true)
	var plays []play
	if err := d.Decode(&plays); err != nil || len(plays) != 1 || len(plays[0].Tasks) != 1 {
		t.Fatalf("the playbook is not one play of one task: %v\n%s", err, text)
	}
	return plays[0].Tasks[0], text
}

// TestAPlaybookDoesWhatAScriptDoes runs what Ansible would run, twice.
func TestAPlaybookDoesWhatAScriptDoes(t *testing.T) {
	tree, _ := machineTree(t)
	putText(t, tree.root, swappinessFile, "40\n") // not what it was on the machine of the playbook
	task, text := playbook(t, planOfAll(), ApplyOptions{})
	if !strings.Contains(text, "stdin: !unsafe |") || strings.Contains(text, "kt_limit 4711") {
		t.Errorf("want a script that Ansible takes as it is, and without a process of this machine:\n%s", text)
	}
	before := snapshotOf(t, tree.root)
	for _, row := range []struct {
		check   string // what the template of check mode makes
		says    string
		changes bool
	}{{"1", "would change ", true}, {"", "changed ", true}, {"", "changed ", false}, {"1", "would change ", false}} {
		cmd := exec.Command(shell(t), task.Command.Words[1:]...)
		cmd.Stdin = strings.NewReader(task.Command.Stdin.Value)
		cmd.Env = append(os.Environ(), "KT_ROOT="+tree.root)
		for name, value := range task.Environment {
			cmd.Env = append(cmd.Env, name+"="+strings.Replace(value, "{{ ansible_check_mode | ternary('1', '') }}", row.check, 1))
		}
		out, err := cmd.CombinedOutput()
		if err != nil || strings.Contains("\n"+string(out), "\n"+row.says) != row.changes {
			t.Errorf("the playbook's script: %v, %s; want that it changes something: %t", err, out, row.changes)
		}
		if row.check != "" && row.changes {
			sameTree(t, "the tree after check mode", before, snapshotOf(t, tree.root))
		}
	}
	if got := readText(t, tree.root, swappinessFile) + readText(t, tree.root, SysctlFile); !strings.HasPrefix(got, "1\n") || !strings.Contains(got, "\nvm.swappiness = 1\n") {
		t.Errorf("the playbook left\n%s", got)
	}
}

func TestAPlaybookRefusesWhatAScriptRefuses(t *testing.T) {
	if err := Ansible(new(bytes.Buffer), []Change{{Setting: "a", Kind: "other"}}, ApplyOptions{}); err == nil {
		t.Error("a change of no kind is written")
	}
}
