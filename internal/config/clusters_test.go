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

// withClusters runs as a user whose configuration file has two clusters. Only the cluster staging has a properties file.
func withClusters(t *testing.T, more string) (in given, dir string) {
	t.Helper()
	dir = t.TempDir()
	write(t, filepath.Join(dir, "staging.properties"), "security.protocol=PLAINTEXT\nlinger.ms=7\n")
	return given{env: map[string]string{"KT_CONFIG": write(t, filepath.Join(dir, "mine.yaml"), twoClusters+more)}}, dir
}

func TestAClusterCountsInTheLayerThatChoosesIt(t *testing.T) {
	for _, tc := range []struct {
		name, file, project string
		env                 map[string]string
		args                string

		cluster, brokers, linger, err string
	}{
		{name: "no cluster", args: "--bootstrap-server b:1", brokers: "b:1"},
		{name: "typed", args: "--cluster staging", cluster: "staging", brokers: "s-1:9092,s-2:9092", linger: "7"},
		{name: "of the file", file: "cluster: staging\n", cluster: "staging", brokers: "s-1:9092,s-2:9092", linger: "7"},
		{name: "of the section", file: "produce: {cluster: staging}\n", cluster: "staging", brokers: "s-1:9092,s-2:9092", linger: "7"},
		{name: "of a variable over the file", file: "cluster: staging\n", env: map[string]string{"KT_CLUSTER": "Prod"}, cluster: "Prod", brokers: "p-1:9092,p-2:9092"},
		{name: "typed over brokers of a variable", env: map[string]string{"KT_BOOTSTRAP_SERVER": "b:1"}, args: "--cluster staging", cluster: "staging", brokers: "s-1:9092,s-2:9092", linger: "7"},
		{name: "its properties below typed ones", args: "--cluster staging --linger 3", cluster: "staging", brokers: "s-1:9092,s-2:9092", linger: "3"},

		// Brokers of a higher layer are another cluster, which gets no property of this one.
		{name: "brokers of a variable over the file", file: "cluster: staging\n", env: map[string]string{"KT_BOOTSTRAP_SERVER": "b:1"}, brokers: "b:1"},
		{name: "typed brokers over the file", file: "cluster: staging\n", args: "--bootstrap-server b:1", brokers: "b:1"},
		{name: "typed brokers as a property", file: "cluster: staging\n", args: "--command-property bootstrap.servers=b:1", brokers: "b:1"},
		{name: "typed brokers by the old name", file: "cluster: staging\n", args: "--producer-props bootstrap.servers=b:1", brokers: "b:1"},

		{name: "typed brokers of a file", file: "cluster: staging\n", args: "--command-config DIR/other.properties", brokers: "o-1:9092"},
		{name: "typed brokers of a file by the old name", file: "cluster: staging\n", args: "--producer.config DIR/other.properties", brokers: "o-1:9092"},
		{name: "a typed file without brokers", file: "cluster: staging\n", args: "--command-config DIR/plain.properties", cluster: "staging", brokers: "s-1:9092,s-2:9092"},
		{name: "a typed file beside a cluster whose file names the brokers", file: "cluster: far\n", args: "--command-config DIR/plain.properties", cluster: "far", brokers: "f:1"},
		{name: "typed, and in its file", args: "--cluster staging --command-config DIR/other.properties", err: "--cluster and --command-config exclude each other"},

		{name: "both in one layer", args: "--cluster staging --bootstrap-server b:1", err: "--cluster and --bootstrap-server exclude each other: give one (cluster staging is from --cluster)"},
		{name: "both in one file", file: "cluster: staging\nbootstrap-server: b:1\n", err: "--cluster and --bootstrap-server exclude each other: give one (cluster staging is from "},
		{name: "one that is not there", args: "--cluster stagging", err: "--cluster \"stagging\": there is no such cluster; did you mean staging?"},
		{name: "letters of another case", args: "--cluster prod", err: "--cluster \"prod\": there is no such cluster; did you mean Prod?"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in, dir := withClusters(t, "  far: {command-config: far.properties}\n"+tc.file)
			write(t, filepath.Join(dir, "far.properties"), "bootstrap.servers=f:1\n")
			write(t, filepath.Join(dir, "other.properties"), "bootstrap.servers = o-1:9092\n")
			write(t, filepath.Join(dir, "plain.properties"), "client.id=me\n")
			in.args = strings.Fields(strings.ReplaceAll(tc.args, "DIR", dir))
			for name, value := range tc.env {
				in.env[name] = value
			}
			r, err := load(t, in)
			if tc.err != "" {
				must.Hold(t, err != nil && strings.HasPrefix(err.Error(), tc.err), "%v\nwant %s", err, tc.err)
				return
			}
			if got := strings.Join(r.Plan.Bootstrap, ","); err != nil || got != tc.brokers || r.Cluster != tc.cluster || r.Properties["linger.ms"].Value != tc.linger {
				t.Errorf("cluster %q at %s with linger %q, %v; want %q at %s with %q", r.Cluster, got, r.Properties["linger.ms"].Value, err, tc.cluster, tc.brokers, tc.linger)
			}
		})
	}
}

func TestALoadOfAProtectedClusterIsOneHoweverItIsNamed(t *testing.T) {
	for args, want := range map[string]string{
		"--cluster Prod":                                "Prod",
		"--bootstrap-server p-2:9092":                   "Prod",
		"--bootstrap-server b:1,P-1:9092":               "Prod",
		"--command-property bootstrap.servers=p-1:9092": "Prod",
		"--cluster staging":                             "",
		"--bootstrap-server p-1:9093":                   "",
		"":                                              "",
	} {
		in, _ := withClusters(t, "")
		in.args = strings.Fields(args)
		if r := mustLoad(t, in); r.Protected != want || r.Yes {
			t.Errorf("%q: protected by %q, want %q", args, r.Protected, want)
		}
	}
	in, dir := withClusters(t, "  far: {command-config: far.properties, protected: true}\nyes: true\n")
	write(t, filepath.Join(dir, "far.properties"), "bootstrap.servers=f:1\n")
	must.Err(t, `unknown key "yes"`, must.Fail(load(t, in)), "a file answers for the user")
	in, dir = withClusters(t, "  far: {command-config: far.properties, protected: true}\n")
	write(t, filepath.Join(dir, "far.properties"), "bootstrap.servers=f:1\n")
	in.env["KT_YES"], in.args = "true", []string{"--bootstrap-server", "f:1"}
	if r := mustLoad(t, in); r.Protected != "far" || r.Yes {
		t.Errorf("by its properties file: %q, yes %t", r.Protected, r.Yes)
	}
}

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

func TestMistakesInClustersAreFound(t *testing.T) {
	for text, want := range map[string]string{
		"clusters:\n  a:\n    bootstrap-servers: b:1":                 `:3: unknown key "clusters.a.bootstrap-servers"; did you mean bootstrap-server?`,
		"clusters:\n  a: {protected: true}":                           ":2: cluster a: it has no brokers",
		"clusters:\n  a: {bootstrap-server: b:1, protected: \"yes\"}": `:2: protected "yes": it must be true or false`,
		"clusters:\n  a: b:1":                                         ":2: cluster a: it has no brokers",
		"cluster: a":                                                  ":1: cluster \"a\": there is no such cluster: write it below clusters:",
	} {
		_, err := load(t, given{file: text})
		must.Err(t, want, err, "%s\ngives …", text)
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

func TestTheFileOfTheProjectIsBetweenTheUsersAndTheEnvironment(t *testing.T) {
	sys := projectSystem(t, "topic: project\nrate: 2", "topic: user\nproduce: {rate: 1}\nproducers: 3\ncluster: c\nclusters: {c: {bootstrap-server: c:1}}", nil)
	r, err := loadOf(t, sys)
	if err != nil || r.Plan.Topic.Name != "project" || r.Plan.Load.Rate.PerSecond != 2 || r.Plan.Producers != 3 || r.Cluster != "c" {
		t.Errorf("%+v, %v", r.Plan, err)
	}
	if got := r.Sources["rate"]; !strings.HasSuffix(got, "kt.yaml:2") {
		t.Errorf("the rate is from %s", got)
	}
	sys = projectSystem(t, "topic: project", "topic: user", map[string]string{"KT_TOPIC": "env"})
	must.Match(t, "env", must.Have(loadOf(t, sys))(t).Plan.Topic.Name, "a variable")
	named := write(t, filepath.Join(t.TempDir(), "named.yaml"), "producers: 9")
	if r, err := loadOf(t, projectSystem(t, "topic: project", "topic: user", nil), "--config", named); err != nil || r.Plan.Topic.Name != "kt-bench" || r.Plan.Producers != 9 {
		t.Errorf("--config takes the place of both: %q, %v", r.Plan.Topic.Name, err)
	}
}

func TestTheFileOfAProjectMayBeOfAStranger(t *testing.T) {
	const user = "cluster: c\nclusters: {c: {bootstrap-server: c:1, command-config: /secret.properties}}"
	must.Err(t, "--exec runs a command", must.Fail(loadOf(t, projectSystem(t, "produce: {exec: reboot, at: 1s}", user, nil))), "a project runs a command")
	r, err := loadOf(t, projectSystem(t, "bootstrap-server: evil:1", user, nil))
	if err != nil || r.Cluster != "" || r.Flags["command-config"] != "" {
		t.Errorf("brokers of the project get the user's %q, %v", r.Flags["command-config"], err)
	}
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
			must.Have(c.Use("Prod", System{Getenv: func(string) string { return "" }}))(t)
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
		_, err := c.Use("Prod", System{Getenv: func(string) string { return "" }})
		must.Err(t, want, err, "%s\ngives …", text)
		if got, _ := os.ReadFile(path); string(got) != text {
			t.Errorf("the file is %q", got)
		}
	}
	if _, err := begin(t, NewConfigFile).Use("Prod", System{Getenv: func(string) string { return "" }}); err == nil {
		t.Error("without a folder it was written")
	}
	c := begin(t, NewConfigFile, "--config", filepath.Join(t.TempDir(), "none.yaml"))
	if _, err := c.Use("Prod", System{Getenv: func(string) string { return "" }}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestAStudySharesItsClusterByName(t *testing.T) {
	in, _ := withClusters(t, "cluster: staging\n")
	for args, want := range map[string][]Assignment{
		"":                          {{Name: "config", Values: []string{in.env["KT_CONFIG"]}}, {Name: "cluster", Values: []string{"staging"}}},
		"--cluster Prod":            {{Name: "config", Values: []string{in.env["KT_CONFIG"]}}, {Name: "cluster", Values: []string{"Prod"}}},
		"--bootstrap-server b:1":    {{Name: "config", Values: []string{in.env["KT_CONFIG"]}}, {Name: "bootstrap-server", Values: []string{"b:1"}}},
		"--command-config my.props": {{Name: "config", Values: []string{in.env["KT_CONFIG"]}}, {Name: "cluster", Values: []string{"staging"}}, {Name: "command-config", Values: []string{"my.props"}}},
	} {
		s := begin(t, NewStudyRun, strings.Fields(args)...)
		must.Do(t, s.Load(System{Getenv: func(name string) string { return in.env[name] }}))
		must.Match(t, want, s.Shared(), "%q", args)
		r, err := LoadOf(plan.Produce, s.Shared(), System{Kafka: kafka, Getenv: func(name string) string { return in.env[name] }})
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

func TestAURLTakesThePlaceOfBrokers(t *testing.T) {
	r := must.Have(load(t, given{args: []string{"--topic", "t", "--num-records", "10", "--url", "amqp://guest@rabbit", "--acks", "0"}}))(t)
	must.True(t, r.Plan.URL == "amqp://guest@rabbit:5672" && len(r.Plan.Bootstrap) == 0 && r.Plan.Load.StopAtDisk == 0, "the plan is %+v", r.Plan)
	must.True(t, len(r.Properties) == 1 && r.Properties["acks"].Value == "0", "the properties are %v, and only one was given", r.Properties)
	if r := mustLoad(t, given{command: plan.Consume, args: []string{"--topic", "t", "--url", "pulsar://broker"}}); r.Plan.Read.Group != "" || len(r.ConsumerProperties) > 0 {
		t.Errorf("without --group there is group %q, and %v", r.Plan.Read.Group, r.ConsumerProperties)
	}
	must.Err(t, "--stop-at-disk: kt does not see the disks of RabbitMQ: --num-records or --duration", must.Fail(load(t, given{args: []string{"--topic", "t", "--url", "amqp://rabbit", "--stop-at-disk", "80%"}})), "the limit of disks is taken")
	must.Match(t, 0, mustLoad(t, given{args: []string{"--topic", "t", "--url", "amqp://rabbit", "--stop-at-disk", "never"}}).Plan.Load.StopAtDisk, "never")
	must.Err(t, "exclude each other", must.Fail(load(t, given{args: []string{"--topic", "t", "--url", "amqp://rabbit", "--bootstrap-server", "b:9092"}})), "both are taken")
}

func TestAURLOfKafkaNamesBrokers(t *testing.T) {
	r, err := load(t, given{args: []string{"--topic", "t", "--num-records", "10", "--url", "kafka://a:9092,b:9092"}})
	if err != nil || r.Plan.URL != "" || !slices.Equal(r.Plan.Bootstrap, []string{"a:9092", "b:9092"}) {
		t.Errorf("the brokers are %v, the URL is %q: %v", r.Plan.Bootstrap, r.Plan.URL, err)
	}
}
