package deploy

import (
	"bytes"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/yannh/kubeconform/pkg/validator"
	"go.yaml.in/yaml/v3"

	"github.com/kt-bench/kt/internal/must"
)

// agents are some as a user may ask for them, with values that other programs would replace.
func agents() Agents {
	return Agents{
		Name: "kt-agent", Version: "1.2.0+g1", Port: 7999, Join: []string{"vm14:7946"},
		Flags:   []string{"--tags=rack-a,ssd", `--allow-topic=a "$(HOME)" ${HOME} {{ b }} %h`, "--quiet=true"},
		KeyFile: "/home/me/the $key's {{ file }}", Owner: "1000:1001",
		Load: &Load{Rate: "10000", Duration: "1m", Topic: "kt-load"},
	}
}

func text(t *testing.T, form string, a Agents) string {
	t.Helper()
	b := new(bytes.Buffer)
	must.Do(t, a.Write(b, form))
	return b.String()
}

func TestTextsAreWhatTheGoldenFilesShow(t *testing.T) {
	withKey := agents()
	withKey.Key = "a key"
	watching := agents()
	watching.Load = nil
	for _, c := range []struct {
		file, form string
		a          Agents
	}{
		{"kubernetes.yaml", "kubernetes", agents()},
		{"kubernetes_key.yaml", "kubernetes", withKey},
		{"compose.yaml", "compose", agents()},
		{"ansible.yaml", "ansible", agents()},
		{"kubernetes_watch.yaml", "kubernetes", watching},
		{"compose_watch.yaml", "compose", watching},
	} {
		must.Golden(t, filepath.Join("testdata", c.file), text(t, c.form, c.a))
	}
}

// validate returns what is wrong with manifests by Kubernetes' schemas, and their kinds.
func validate(t *testing.T, manifests string) (kinds, wrong []string) {
	t.Helper()
	v := must.Have(validator.New([]string{"testdata/schemas/{{ .ResourceKind }}{{ .KindSuffix }}.json"}, validator.Opts{Strict: true}))(t)
	for _, r := range v.Validate("manifests", io.NopCloser(strings.NewReader(manifests))) {
		switch r.Status {
		case validator.Empty:
		case validator.Valid:
			signature := must.Have(r.Resource.Signature())(t)
			kinds = append(kinds, signature.Kind)
		case validator.Error, validator.Invalid, validator.Skipped:
			wrong = append(wrong, r.Err.Error())
		}
	}
	return kinds, wrong
}

func TestManifestsAreValidByTheSchemasOfKubernetes(t *testing.T) {
	kinds, wrong := validate(t, text(t, "kubernetes", agents()))
	want := []string{"Service", "StatefulSet", "Job"}
	must.True(t, slices.Equal(kinds, want) && len(wrong) == 0, "%q are valid, want %q: %q", kinds, want, wrong)
	a := agents()
	a.Key = "a key"
	kinds, wrong = validate(t, text(t, "kubernetes", a))
	if want := []string{"Secret", "Service", "StatefulSet", "Job"}; !slices.Equal(kinds, want) || len(wrong) > 0 {
		t.Errorf("with a key %q are valid, want %q: %q", kinds, want, wrong)
	}
	// A name that YAML reads as true is a name all the same.
	a.Name = "on"
	kinds, wrong = validate(t, text(t, "kubernetes", a))
	must.True(t, len(kinds) == 4, "%q of the name on are valid: %q", kinds, wrong)
}

func TestWhatKubernetesDoesNotKnowIsFound(t *testing.T) {
	good := text(t, "kubernetes", agents())
	for _, c := range []struct{ what, old, by string }{
		{"an unknown field", "podManagementPolicy:", "podManagement:"},
		{"a number that is a string", "maxSkew: 1", `maxSkew: "1"`},
		{"a missing field", "          topologyKey: kubernetes.io/hostname\n", ""},
		{"an unknown field of a container", "startupProbe:", "startProbe:"},
		{"an unknown kind", "kind: Job", "kind: Jobs"},
	} {
		bad := strings.Replace(good, c.old, c.by, 1)
		_, wrong := validate(t, bad)
		must.True(t, bad != good && len(wrong) == 1, "%s: found wrong: %q", c.what, wrong)
	}
}

// pod is what the test reads of a pod.
type pod struct {
	Kind string `yaml:"kind"`
	Spec struct {
		Template struct {
			Spec struct {
				Containers []struct {
					Args []string `yaml:"args"`
				} `yaml:"containers"`
			} `yaml:"spec"`
		} `yaml:"template"`
	} `yaml:"spec"`
}

func TestAnAgentGetsItsFlagsAsTheyWereGiven(t *testing.T) {
	want := []string{"agent", "--key-file=/etc/kt/key", "--join=kt-agent:7999,vm14:7946", "--bind=0.0.0.0:7999"}
	want = append(want, agents().Flags...)
	var set pod
	for d := yaml.NewDecoder(strings.NewReader(text(t, "kubernetes", agents()))); set.Kind != "StatefulSet"; {
		set = pod{}
		must.Do(t, d.Decode(&set))
	}
	must.Match(t, want, unescaped(set.Spec.Template.Spec.Containers[0].Args), "in Kubernetes")
	var file struct {
		Services map[string]struct {
			Command []string `yaml:"command"`
		} `yaml:"services"`
		Secrets map[string]struct {
			File string `yaml:"file"`
		} `yaml:"secrets"`
	}
	must.Do(t, yaml.Unmarshal([]byte(text(t, "compose", agents())), &file))
	must.Match(t, want, unescaped(file.Services["kt-agent"].Command), "in a compose file")
	must.Match(t, agents().KeyFile, unescaped([]string{file.Secrets["key"].File})[0], "the key is read from")
}

// unescaped returns arguments as Kubernetes and compose pass them on: they replace $$ by $.
func unescaped(args []string) []string {
	var all []string
	for _, arg := range args {
		all = append(all, strings.ReplaceAll(arg, "$$", "$"))
	}
	return all
}

func TestAPlayWritesTheUnit(t *testing.T) {
	var plays []struct {
		Vars  map[string]string `yaml:"vars"`
		Tasks []struct {
			Copy struct {
				Dest    string    `yaml:"dest"`
				Content yaml.Node `yaml:"content"`
			} `yaml:"ansible.builtin.copy"`
		} `yaml:"tasks"`
	}
	must.Do(t, yaml.Unmarshal([]byte(text(t, "ansible", agents())), &plays))
	want := must.Have(agents().Unit())(t)
	for _, task := range plays[0].Tasks {
		if task.Copy.Dest != "/etc/systemd/system/kt-agent.service" {
			continue
		}
		got := task.Copy.Content
		must.True(t, got.Value == want && got.Tag == "!unsafe", "%s %s\nwant\n%s", got.Tag, got.Value, want)
		return
	}
	t.Error("no task writes it")
}

func TestATopicIsNamedInALoadOrAskedFor(t *testing.T) {
	a := agents()
	a.Load = &Load{Rate: "90", Duration: "5s", Pattern: `orders-\d+`}
	for _, name := range []string{"kubernetes", "compose"} {
		got := text(t, name, a)
		want := `# Name a topic (--topic): its whole name has to match 'orders-\d+', or`
		must.True(t, strings.Contains(got, want) && !strings.Contains(got, "--topic="), "in %s there is no %q, or a topic:\n%s", name, want, got)
		must.Has(t, name, got, `- "--rate=90"`, `- "--duration=5s"`)
		var d any
		err := yaml.Unmarshal([]byte(got), &d)
		must.True(t, err == nil, "%s: %v", name, err)
	}
}

func TestAGroupOfAgentsHasANameOfDNS(t *testing.T) {
	for s, ok := range map[string]bool{
		"kt-agent": true, "a": true, "a1": true, "": false, "1a": false, "a-": false, "A": false, "a_b": false, "a.b": false,
		strings.Repeat("a", 40): true, strings.Repeat("a", 41): false, "a\nb": false,
	} {
		err := CheckName(s)
		must.True(t, (err == nil) == ok, "CheckName(%q) = %v", s, err)
	}
}

func TestAUnitHasTheWordsOfTheCommandLine(t *testing.T) {
	for _, r := range []struct{ name, word, want string }{
		{"a plain word", "--join", "--join"},
		{"one with a space", "a b", `"a b"`},
		{"a regular expression", `kt-.*\.x`, `"kt-.*\\.x"`},
		{"what systemd would replace", "%h$HOME", "%%h$$HOME"},
		{"a quotation mark", `say "no"`, `"say \"no\""`},
		{"nothing", "", `""`},
	} {
		must.Match(t, r.want, quoteUnit(r.word), "%s", r.name)
	}
}

func TestAUnitNamesTheFilesThatTheAgentNeeds(t *testing.T) {
	unit := func(u Unit) string {
		b := new(strings.Builder)
		must.Do(t, u.Write(b))
		return b.String()
	}
	given := unit(Unit{Words: []string{"kt", "agent"}, Key: "/srv/the key", Results: "/srv/$ 5%"})
	must.Has(t, "the unit", given,
		"\n#   chown kt '/srv/the key' && chmod 600 '/srv/the key'\n",
		"\n#   install --directory --owner=kt --mode=0700 '/srv/$ 5%'\n",
		"\nExecStart=kt agent\n", "\nKillMode=process\n", "\nReadWritePaths=\"/srv/$ 5%%\"\n",
	)
	none := unit(Unit{Words: []string{"kt", "agent"}})
	for _, other := range []string{"chown kt", "install", "ReadWritePaths"} {
		must.True(t, !strings.Contains(none, other), "without a key and a folder there is %q in\n%s", other, none)
	}
}
