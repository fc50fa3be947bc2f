package tune

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

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
