package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
)

const twoClusters = `# mine
acks: "1"
clusters:
  # before production
  staging:
    bootstrap-server: [s-1:9092, s-2:9092]
    command-config: staging.properties
  Prod:
    description: do not touch
    bootstrap-server: p-1:9092,p-2:9092
    protected: true
`

func TestAnotherSpellingOfAnAddressIsProtectedToo(t *testing.T) {
	sys := System{Getenv: func(string) string { return "" }, Addresses: func(hosts []string) map[string][]string {
		known := map[string][]string{"here": {"127.0.0.1", "::1"}, "p": {"10.0.0.1", "10.0.0.2"}, "alias": {"10.0.0.2"}, "10.0.0.1": {"10.0.0.1"}}
		found := make(map[string][]string)
		for _, host := range hosts {
			found[host] = known[host]
		}
		return found
	}}
	sys.ConfigDir = t.TempDir()
	other := write(t, filepath.Join(sys.ConfigDir, "alias.properties"), "bootstrap.servers=alias:9092\n")
	elsewhere := write(t, filepath.Join(sys.ConfigDir, "elsewhere.properties"), "bootstrap.servers=elsewhere:9092\n")
	own := write(t, filepath.Join(sys.ConfigDir, "own.properties"), "bootstrap.servers=127.0.0.1:9992\n")
	write(t, filepath.Join(sys.ConfigDir, "kt", "config.yaml"), "cluster: prod\nclusters:\n"+
		"  own: {command-config: "+own+", protected: true}\n  prod: {bootstrap-server: \"p:9092\", protected: true}\n")
	for args, want := range map[string]string{
		"--bootstrap-server here:9992":             "own",
		"--bootstrap-server [::1]:9992":            "own",
		"--bootstrap-server 0.0.0.0:9992":          "own",
		"--bootstrap-server ::ffff:127.0.0.1:9992": "",
		"--bootstrap-server here:9993":             "",
		"--bootstrap-server alias:9092":            "prod",
		"--bootstrap-server 10.0.0.1:09092":        "prod",
		"--bootstrap-server PLAINTEXT://P.:9092":   "prod",
		"--command-config " + other:                "prod",
		"--command-config " + elsewhere:            "",
		"--bootstrap-server unknown:9092":          "",
		"":                                         "prod",
	} {
		must.Match(t, want, must.Have(loadOf(t, sys, strings.Fields(args)...))(t).Protected, "%q: protected by", args)
	}
}

// projectSystem is a System with a file of a project, and of the user.
func projectSystem(t *testing.T, project, user string, env map[string]string) System {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "kt", "config.yaml"), user)
	return System{
		Kafka: kafka, ConfigDir: dir, ProjectFile: write(t, filepath.Join(dir, "project", "kt.yaml"), project),
		Getenv: func(name string) string { return env[name] },
	}
}

func loadOf(t *testing.T, sys System, args ...string) (*Run, error) {
	t.Helper()
	return loaded(t, NewProduce, sys, args...)
}

func TestChoosingAClusterChangesOneLine(t *testing.T) {
	for _, tc := range []struct{ name, before, after string }{
		{"none was chosen", twoClusters, strings.Replace(twoClusters, "clusters:", "cluster: Prod\nclusters:", 1)},
		{"another was", "cluster: staging   # for now\n\n\n" + twoClusters, "cluster: Prod   # for now\n\n\n" + twoClusters},
		{"the key has no value", "cluster:\n" + twoClusters, "cluster: Prod\n" + twoClusters},
		{"in quotes", "Cluster: \"staging\"\n" + twoClusters, "Cluster: Prod\n" + twoClusters},
		{"at the end, which has no line break", twoClusters + "cluster: staging", twoClusters + "cluster: Prod"},
		{
			"with the ends of line of Windows",
			strings.ReplaceAll(twoClusters, "\n", "\r\n"), strings.ReplaceAll(strings.Replace(twoClusters, "clusters:", "cluster: Prod\nclusters:", 1), "\n", "\r\n"),
		},
		{"above the comment of the clusters", "acks: 1\n# all\n" + twoClusters[len("# mine\nacks: \"1\"\n"):], "acks: 1\ncluster: Prod\n# all\n" + twoClusters[len("# mine\nacks: \"1\"\n"):]},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			path := write(t, filepath.Join(dir, "real.yaml"), tc.before)
			must.Do(t, os.Chmod(path, 0o600))
			link := filepath.Join(dir, "link.yaml")
			must.Do(t, os.Symlink("real.yaml", link))
			c := begin(t, NewConfigFile, "--config", link)
			must.Have(c.Use("Prod", nothing))(t)
			got, err := os.ReadFile(path)
			if diff := cmp.Diff(tc.after, string(got)); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			info, err := os.Stat(path)
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the mode is %v, %v", info.Mode(), err)
			}
			if files, err := os.ReadDir(dir); err != nil || len(files) != 2 {
				t.Errorf("left behind: %v, %v", files, err)
			}
		})
	}
}

func TestAClusterIsNotChosenWhereThatCannotWork(t *testing.T) {
	for text, want := range map[string]string{
		"bootstrap-server: b:1\n" + twoClusters:       ":1: bootstrap-server names brokers too",
		"{clusters: {Prod: {bootstrap-server: b:1}}}": "kt cannot change a file of this form",
		"clusters: {other: {bootstrap-server: b:1}}":  "cluster \"Prod\": there is no such cluster; there are other",
		"topci: x\n" + twoClusters:                    `:1: unknown key "topci"`,
		"acks: 1":                                     "there is no such cluster: write it below clusters:",
	} {
		path := write(t, filepath.Join(t.TempDir(), "kt.yaml"), text)
		c := begin(t, NewConfigFile, "--config", path)
		_, err := c.Use("Prod", nothing)
		must.Err(t, want, err, "%s\ngives …", text)
		if got, _ := os.ReadFile(path); string(got) != text {
			t.Errorf("the file is %q", got)
		}
	}
	if _, err := begin(t, NewConfigFile).Use("Prod", nothing); err == nil {
		t.Error("without a folder it was written")
	}
	c := begin(t, NewConfigFile, "--config", filepath.Join(t.TempDir(), "none.yaml"))
	if _, err := c.Use("Prod", nothing); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestAStudySharesItsClusterByName(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "staging.properties"), "security.protocol=PLAINTEXT\nlinger.ms=7\n")
	file := write(t, filepath.Join(dir, "mine.yaml"), twoClusters+"cluster: staging\n")
	sys := System{Kafka: kafka, Getenv: func(name string) string { return map[string]string{"KT_CONFIG": file}[name] }}
	for args, more := range map[string]string{
		"": "cluster staging", "--cluster Prod": "cluster Prod", "--bootstrap-server b:1": "bootstrap-server b:1",
		"--command-config my.props": "cluster staging command-config my.props",
	} {
		s := begin(t, NewStudyRun, strings.Fields(args)...)
		must.Do(t, s.Load(sys))
		want := []Assignment{{Name: "config", Values: []string{file}}}
		for pair := range slices.Chunk(strings.Fields(more), 2) {
			want = append(want, Assignment{Name: pair[0], Values: pair[1:]})
		}
		must.Match(t, want, s.Shared(), "%q", args)
		r, err := LoadOf(plan.Produce, s.Shared(), sys)
		if args == "" && (err != nil || !slices.Equal(r.Plan.Bootstrap, []string{"s-1:9092", "s-2:9092"}) || r.Properties["linger.ms"].Value != "7") {
			t.Errorf("a load of it goes to %v with %v, %v", r.Plan.Bootstrap, r.Properties, err)
		}
	}
}

func TestNoFileOfAStudyAnswersForTheUser(t *testing.T) {
	if err := CheckFlag(plan.Produce, "yes"); err == nil || !strings.HasPrefix(err.Error(), "yes: only the command line") {
		t.Error(err)
	}
	if err := CheckFlag(plan.Produce, "cluster"); err != nil {
		t.Error(err)
	}
}
