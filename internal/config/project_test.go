package config

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/kt-bench/kt/internal/kafka/javaconf"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/secret"
)

// The file of a project may be of somebody else, as a clone is.
func TestAProjectFileDescribesLoadsAndNothingElse(t *testing.T) {
	for text, want := range map[string]string{
		"exec: [rm -rf /]\nat: [1s]":                                        "kt.yaml:1: --exec runs a command",
		"produce: {exec: reboot, at: 1s}":                                   "--exec runs a command",
		"clusters: {c: {bootstrap-server: e}}":                              "kt.yaml:1: clusters: it belongs into the file of the user",
		"produce:\n  command-config: x.properties":                          "--command-config names credentials",
		"payload-file: /etc/shadow":                                         "--payload-file sends a file",
		"payload-template: /etc/shadow":                                     "--payload-template sends a file",
		"command-property: [sasl.oauthbearer.token.endpoint.url=https://x]": "is no property that a project file may set",
		"command-property:\n  - acks=1\n  - ' security.protocol=PLAINTEXT'": "is no property that a project file may set",
		"consume:\n  command-property: bootstrap.servers=x:1":               "is no property that a project file may set",
		"agent:\n  join: x":                                                 "--join opens this host to others",
		"config: x.yaml":                                                    "--config names another file",
		"html: /tmp/x.html":                                                 "kt.yaml:1: --html writes a file",
		"produce:\n  result: x.ktr":                                         "kt.yaml:2: --result writes a file",
		"report: {html: x}":                                                 "--html writes a file",
		"collect: {result: x}":                                              "--result writes a file",
		"metrics-listen: :9000":                                             "--metrics-listen opens a port",
		"tune:\n  root: /tmp":                                               "kt.yaml:2: --root decides what is read",
		"tune: {profile: /etc/passwd}":                                      "--profile decides what is read",
		"probe: {compare: /etc/passwd}":                                     "--compare reads and writes the disks",
		"consume: {verify: /etc/passwd}":                                    "--verify reads a file",
		"on: all":                                                           "--on reaches agents",
		"produce: {watch: all}":                                             "--watch reaches agents",
		"peers: [a:1]":                                                      "peers: it is a section",
		"produce: {peers: [a:1]}":                                           "--peers reaches agents",
		"study: {join: a:1}":                                                "--join reaches agents",
		"processes: 400":                                                    "--processes reaches agents",
		"hosts: 3":                                                          "--hosts reaches agents",
		"run: nightly":                                                      "--run reaches agents",
		"agent: {quiet: true}":                                              "--quiet opens this host to others",
		"max-rate: 1":                                                       "--max-rate opens this host to others",
		"optimize: {over: [tune.x]}":                                        "--over changes brokers and hosts",
		"study: {set: [exec=id]}":                                           "--set sets any flag of a load",
		"calibrate: {save: true}":                                           "--save changes what kt knows",
		"prune: {keep: 0}":                                                  "--keep removes runs",
		"until-full: true":                                                  "--until-full fills the disks",
		"doctor: {read-only: false}":                                        "--read-only decides whether a topic is made",
		"doctor: {url: 'amqp://h/'}":                                        "--url names a system that kt doctor does not examine",
		"producer-props: [interceptor.classes=x]":                           `--producer-props: "interceptor.classes" is no property`,
		"command-property: [url.password=x]":                                "is no property that a project file may set",
		"command-property: ['client.id=${file:/etc/x:y}']":                  "client.id looks a value up elsewhere",
		"command-property: [lingr.ms=1]":                                    `"lingr.ms" is no property that a project file may set`,
		"quiet: true\noutput: csv\nprofile: latency":                        "",
		"produce: {verify: true}\nroundtrip: {fps: 2}":                      "",
		"find: {slo: ['p99<5ms']}\nstudy: {repeats: 3}":                     "",
		"url: amqp://u:p@h/\nconsume: {broker-list: b:1}":                   "",
		"cluster: staging\ndescription: of the team":                        "",
		"acks: all\ncommand-property: [linger.ms=1]\nbootstrap-server: b:9092": "",
	} {
		_, err := nothing.parseFile("kt.yaml", []byte(text), fromProject)
		must.True(t, (want == "") == (err == nil) && (err == nil || strings.Contains(err.Error(), want)), "%q: %v, want %q", text, err, want)
	}
}

// mayProjectsSet are the flags that somebody has decided to let the file of a project set, in these commands. A row of a group that
// is allowed does not decide it.
const mayProjectsSet = `calibrate collect compare consume doctor find optimize peers probe produce report roundtrip runs study trial tune watch: ascii no-color output theme
calibrate capture collect consume find optimize probe produce roundtrip study trial tune: quiet
capture: url
capture consume doctor produce roundtrip: command-property
capture consume doctor produce roundtrip study: bootstrap-server cluster
collect consume produce report roundtrip tune: verbose
compare: fail-on
compare consume find optimize produce report roundtrip study trial: accept
compare optimize trial: delta
consume: include
consume doctor produce roundtrip: duration topic
consume produce roundtrip: topics
consume find optimize produce roundtrip study trial: tag
consume produce roundtrip: abort-on engine fps lenient limit num-records print-metrics profile rate reporting-interval url warmup
consume roundtrip: allow-gaps broker-list commit consumers date-format fetch-max-wait fetch-min-bytes fetch-size from from-latest group group-instance-id group-protocol groups
consume roundtrip: hide-header isolation max-message-bytes messages no-check-crcs no-group num-fetch-threads processing-time show-consumer-stats show-detailed-stats
consume roundtrip: ordered-by processing-mode processing-threads share-ack share-acquire-mode share-max-records share-start socket-buffer-size threads timeout
find optimize: slo
find: ladder precision trial-time
find optimize study trial: rest
optimize: budget for may-change
optimize study trial: discard run-time
produce roundtrip: acks arrivals batch-size compressibility compression delete-topic header idempotence key-distribution ledger-sync linger max-in-flight
produce roundtrip: partitions payload-delimiter payload-monotonic payload-whole producer-props producers record-key-range record-size replication-factor seed
produce roundtrip: topic-distribution
produce roundtrip: stamp throughput topic-config transaction-duration-ms transactional-id verify warmup-records
report: play speed
roundtrip: backlog backlog-left one-at-a-time producer-acks
runs: rows
study: bytes
study trial: repeats
tune: all
`

// A flag that the file of a project may set fails here until somebody has decided that.
func TestEveryFlagOfEachCommandHasOneRow(t *testing.T) {
	rows, decided := make(map[string]bool), make(map[string][]string)
	for line := range strings.Lines(mayProjectsSet) {
		commands, flags, _ := strings.Cut(line, ": ")
		for _, flag := range strings.Fields(flags) {
			decided[flag] = append(decided[flag], commands)
		}
	}
	for _, s := range settings {
		for _, command := range s.Commands {
			if key := command + " " + s.Name; rows[key] {
				t.Errorf("kt %s has two rows", key)
			} else {
				rows[key] = true
			}
		}
		if of := strings.Join(decided[s.Name], " "); *s.Forbidden == allowed && !s.Typed {
			for _, command := range s.Commands {
				if slices.Contains(Commands(), command) && !slices.Contains(strings.Fields(of), command) {
					t.Errorf("kt %s --%s: may the file of a project set it, of whoever wrote that? Then add it to mayProjectsSet", command, s.Name)
				}
			}
		}
	}
	must.True(t, inProject("produce", "new-flag") != allowed, "a project may set a flag that has no row")
}

func TestDocsListWhatAProjectMaySet(t *testing.T) {
	const page, begin, end = "../../docs/config.md", "<!-- project: made of internal/config/settings.json -->\n", "<!-- /project -->\n"
	words := func(text ...string) string { return "`" + strings.Join(text, "` `") + "`" }
	in := make(map[string][]string) // flag → the commands that take it
	for _, s := range settings {
		for _, command := range s.Commands {
			if slices.Contains(Commands(), command) && !s.Typed && *s.Forbidden == allowed {
				in[s.Name] = append(in[s.Name], command)
			}
		}
	}
	flags := make(map[string][]string) // commands → flags
	for _, flag := range slices.Sorted(maps.Keys(in)) {
		slices.Sort(in[flag])
		flags[words(in[flag]...)] = append(flags[words(in[flag]...)], flag)
	}
	table := "| in | keys |\n|---|---|\n"
	for _, commands := range slices.Sorted(maps.Keys(flags)) {
		table += "| " + commands + " | " + words(flags[commands]...) + " |\n"
	}
	table += "| `command-property`, `producer-props` | " + words(projectProperties...) + " |\n"
	text, err := os.ReadFile(page)
	must.Hold(t, err == nil, "%v", err)
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if want := before + begin + table + end + after; !ok || !closed || want != string(text) {
		if must.Update() && ok && closed {
			err = os.WriteFile(page, []byte(want), 0o644)
		}
		must.True(t, must.Update() && err == nil, "%s does not list what a project may set: go test ./internal/config -update, %v", page, err)
	}
}

func TestEveryPropertyOfAClientIsDecidedForProjects(t *testing.T) {
	producer, _ := must.Both(javaconf.ParseProducer(nil, 100, false))(t)
	consumer, _ := must.Both(javaconf.ParseConsumer(nil, false))(t)
	refused := strings.Fields(`bootstrap.servers client.dns.lookup config.providers enable.metrics.push interceptor.classes key.deserializer key.serializer
		metric.reporters partition.assignment.strategy partitioner.class value.deserializer value.serializer`)
	for _, s := range slices.Concat(producer.All(), consumer.All()) {
		if may := slices.Contains(projectProperties, s.Name); may == slices.Contains(refused, s.Name) {
			t.Errorf("%s: a project may set it: %v, and the test has it as refused: %v", s.Name, may, may)
		}
	}
	for _, name := range projectProperties {
		for _, bad := range []string{"class", "serializer", "servers", "url", "file", "location", "password", "ssl.", "sasl."} {
			must.True(t, !strings.Contains(name, bad), "a project may set %s", name)
		}
	}
}

// What stands at the top of a file of a project counts only for the commands in whose section it could stand.
func TestTheTopOfAProjectFileIsForLoads(t *testing.T) {
	f := must.Have(nothing.parseFile("kt.yaml", []byte("profile: latency\nduration: 5m\nverify: true\nquiet: true\n"), fromProject))(t)
	for command, want := range map[string]string{
		"produce": "duration profile quiet verify", "consume": "duration profile quiet", "tune": "quiet", "probe": "quiet", "doctor": "duration", "agent": "",
	} {
		keys := f.of(command).AllKeys()
		if slices.Sort(keys); strings.Join(keys, " ") != want {
			got := keys
			t.Errorf("kt %s takes %q, want %q", command, got, want)
		}
	}
}

func TestAProfileThatAProjectChoosesMaySetNoMore(t *testing.T) {
	const text = "description: d\nuntil-full: true\nwatch: a\n" // of two reasons the first is told, however often one looks
	for i := range 40 {
		project, args := "profile: full", "--bootstrap-server b:1"
		if i == 0 {
			project, args = "", "--bootstrap-server b:1 --profile full"
		}
		sys := projectSystem(t, project, "", nil)
		sys.Profiles = func(string) fs.FS { return fstest.MapFS{"full.yaml": {Data: []byte(text)}} }
		_, err := loaded(t, NewProduce, sys, strings.Fields(args)...)
		if (project == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), "kt.yaml:1: the profile full fills the disks of brokers") {
			t.Errorf("%q, %q: %v", project, args, err)
		}
	}
}

// A cluster of the user is not used, and its login goes nowhere, where a project or a command line names another system.
func TestAURLIsAnotherClusterThanTheUsers(t *testing.T) {
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, "client.properties"), "ssl.key.password=x\n")
	user := "cluster: c\nclusters: {c: {bootstrap-server: 'c:1', command-config: " + file + "}}"
	for project, args := range map[string]string{"url: amqp://h/": "", "": "--url amqp://h/"} {
		if r, err := loaded(t, NewProduce, secured(projectSystem(t, project, user, nil)), strings.Fields(args)...); err != nil || r.Cluster != "" || len(r.Security.Given()) > 0 {
			t.Errorf("%q, %q: cluster %q, %d properties, %v", project, args, r.Cluster, len(r.Security.Given()), err)
		}
	}
}

// secured returns a system whose clients have properties of security.
func secured(sys System) System {
	sys.Kafka.Security = isSecure
	return sys
}

// permits reports whether the credentials of a run are bound to where it goes.
func permits(r *Run) bool {
	bound := secret.Bind(r.Security.Named())
	return !slices.ContainsFunc(r.Plan.Addresses(), func(addr string) bool { return bound.Permit(addr) != nil })
}

// Addresses of a project file may be somebody else's, so credentials are not bound to them, wherever these come from.
func TestCredentialsAreBoundToWhatTheirOwnerNamed(t *testing.T) {
	dir := t.TempDir()
	bare := write(t, filepath.Join(dir, "bare.properties"), "ssl.key.password=x\n")
	here := write(t, filepath.Join(dir, "here.properties"), "ssl.key.password=x\nbootstrap.servers=b:1,\n")
	away := write(t, filepath.Join(dir, "away.properties"), "ssl.key.password=x\nbootstrap.servers=${env:AWAY}\nconfig.providers=env\n"+
		"config.providers.env.class=org.apache.kafka.common.config.provider.EnvVarConfigProvider\n")
	clusters := "clusters: {c: {bootstrap-server: c:1, command-config: " + bare + "}}\n"
	for _, r := range []struct {
		project, user, env, args string
		want                     bool
	}{
		{"bootstrap-server: b:1", "command-config: " + bare, "", "", false},
		{"bootstrap-server: b:1", "", "KT_COMMAND_CONFIG=" + bare, "", false},
		{"bootstrap-server: b:1", "", "", "--command-config " + bare, false},
		{"bootstrap-server: b:1", "", "", "--producer.config " + bare, false},
		{"bootstrap-server: b:1", "", "", "--command-property ssl.key.password=y", false},
		{"broker-list: b:1", "", "", "--topic t --command-config " + bare, false},
		{"url: 'amqp://b:1'", "", "", "--command-config " + bare, false},
		{"url: 'amqp://b?admin=http://b:9'", "", "", "--command-config " + bare, false},
		{"bootstrap-server: b:1", "command-config: " + away, "AWAY=a:1", "", false},
		{"bootstrap-server: b:1", "command-config: " + here, "", "", true},
		{"bootstrap-server: b:1", "", "KT_COMMAND_CONFIG=" + here, "", true},
		{"bootstrap-server: x:1", "", "KT_COMMAND_CONFIG=" + away + " AWAY=a:1", "", true}, // the file wins
		{"bootstrap-server: b:1", "command-config: " + bare, "", "--bootstrap-server c:1", true},
		{"", "bootstrap-server: b:1\ncommand-config: " + bare, "", "", true},
		{"", "command-config: " + bare, "KT_BOOTSTRAP_SERVER=b:1", "", true},
		{"", "", "KT_URL=amqp://b?admin=http://b:9", "--command-config " + bare, true},
		{"", "", "", "--url kafka://b:1,b:2 --command-config " + bare, true},
		{"cluster: c", clusters, "", "", true},
	} {
		vars := map[string]string{}
		for pair := range strings.FieldsSeq(r.env) {
			name, value, _ := strings.Cut(pair, "=")
			vars[name] = value
		}
		define := NewProduce
		if strings.Contains(r.project, "broker-list") {
			define = NewConsume
		}
		run, err := loaded(t, define, secured(projectSystem(t, r.project, r.user, vars)), strings.Fields(r.args)...)
		if err != nil || len(run.Security.Given()) == 0 || permits(run) != r.want {
			t.Errorf("%+v: to %v, bound to %v, %v", r, run.Plan.Addresses(), run.Security.Named(), err)
		}
	}
}

// The file of a study may be somebody else's too, and what a project file says stays that in the loads of a study.
func TestCredentialsAreNotBoundToWhatAStudyNames(t *testing.T) {
	bare := write(t, filepath.Join(t.TempDir(), "bare.properties"), "ssl.key.password=x\n")
	named := func(foreign bool, flags ...string) (all []Assignment) {
		for i := 0; i < len(flags); i += 2 {
			all = append(all, Assignment{flags[i], []string{flags[i+1]}, foreign})
		}
		return all
	}
	for _, r := range []struct {
		project, args string
		of            []Assignment
		want          bool
	}{
		{"bootstrap-server: b:1", "", nil, false},
		{"bootstrap-server: b:1", "--command-config " + bare, nil, false},
		{"produce: {bootstrap-server: b:1}", "--command-config " + bare, nil, false},
		{"bootstrap-server: b:1", "--bootstrap-server c:1", nil, true},
		{"", "", named(true, "bootstrap-server", "b:1"), false},
		{"", "", named(true, "url", "amqp://b:1"), false},
		{"", "", named(true, "command-property", "bootstrap.servers=b:1"), false},
		{"", "", named(false, "bootstrap-server", "b:1"), true},
	} {
		sys := projectSystem(t, r.project, "command-config: "+bare, nil)
		s := begin(t, NewStudyRun, strings.Fields(r.args)...)
		must.Do(t, s.Load(sys))
		run, err := LoadOf(plan.Produce, append(s.Shared(), r.of...), secured(sys))
		if err != nil || permits(run) != r.want {
			t.Errorf("%+v: to %v, bound to %v, %v", r, run.Plan.Addresses(), run.Security.Named(), err)
		}
	}
	_, err := LoadOf(plan.Produce, named(true, "bootstrap-server", "b:1", "command-config", bare), secured(projectSystem(t, "", "", nil)))
	must.Err(t, "it says how clients log in", err, "a study brings a log-in")
	_, err = LoadOf(plan.Produce, named(true, "command-property", "ssl.endpoint.identification.algorithm="), secured(projectSystem(t, "", "command-config: "+bare, nil)))
	must.Err(t, "ssl.endpoint.identification.algorithm", err, "a study loosens TLS")
}

func TestAClusterThatAProjectChoosesKeepsItsProperties(t *testing.T) {
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, "client.properties"), "ssl.key.password=x\n")
	sys := projectSystem(t, "cluster: c", "clusters: {c: {bootstrap-server: c:1, command-config: "+file+"}}", nil)
	if r, err := loadOf(t, secured(sys)); err != nil || r.Cluster != "c" || len(r.Security.Given()) != 1 {
		t.Errorf("cluster %q, %v", r.Cluster, err)
	}
}

func isSecure(name string) bool {
	return strings.HasPrefix(name, "ssl.") || strings.HasPrefix(name, "sasl.")
}

// secureFile reads a file with these lines.
func secureFile(t *testing.T, lines ...string) (map[string]string, error) {
	t.Helper()
	path := write(t, filepath.Join(t.TempDir(), "client.properties"), strings.Join(lines, "\n")+"\n")
	s, err := SecurityOf(path, nil, System{Getenv: func(name string) string { return map[string]string{"WORD": "from env"}[name] }}, isSecure)
	values := make(map[string]string)
	for name, g := range s.Given() {
		values[name] = g.Value
	}
	return values, err
}

func TestValuesAreLookedUpOnlyByProvidersThatAreNamed(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "secrets.properties"), "word=from file\n")
	write(t, filepath.Join(dir, "word"), "from folder")
	const class = "class=org.apache.kafka.common.config.provider."
	for _, r := range []struct {
		lines       []string
		want, wrong string
	}{
		{[]string{"ssl.key.password=${env:WORD}"}, "${env:WORD}", ""},
		{[]string{"ssl.key.password=${env:WORD}", "config.providers=env", "config.providers.env." + class + "EnvVarConfigProvider"}, "from env", ""},
		{[]string{"ssl.key.password=a${e:WORD}b${f:x:y}", "config.providers=e", "config.providers.e." + class + "EnvVarConfigProvider"}, "afrom envb${f:x:y}", ""},
		{[]string{"ssl.key.password=${file:" + dir + "/secrets.properties:word}", "config.providers=file", "config.providers.file." + class + "FileConfigProvider"}, "from file", ""},
		{[]string{"ssl.key.password=${dir:" + dir + ":word}", "config.providers=dir", "config.providers.dir." + class + "DirectoryConfigProvider"}, "from folder", ""},
		{[]string{"ssl.key.password=${dir:" + dir + ":../word}", "config.providers=dir", "config.providers.dir." + class + "DirectoryConfigProvider"}, "", "must be the name of a file"},
		{[]string{"ssl.key.password=${file:" + dir + "/secrets.properties:other}", "config.providers=file", "config.providers.file." + class + "FileConfigProvider"}, "", "has no key other"},
		{[]string{"ssl.key.password=${vault:a:b}", "config.providers=vault", "config.providers.vault.class=com.example.Vault"}, "", "kt knows FileConfigProvider"},
	} {
		got, err := secureFile(t, r.lines...)
		switch {
		case r.wrong != "" && (err == nil || !strings.Contains(err.Error(), r.wrong)):
			t.Errorf("%q: %v", r.lines, err)
		case r.wrong == "" && (err != nil || got["ssl.key.password"] != r.want):
			t.Errorf("%q: %q, %v", r.lines, got, err)
		}
	}
}

func TestALineThatContinuesNothingIsNotShown(t *testing.T) {
	_, err := secureFile(t, "ssl.keystore.key=-----BEGIN PRIVATE KEY-----", "hunter2", "hunter", "-----END PRIVATE KEY-----", "acks=all")
	if err == nil || !strings.Contains(err.Error(), `client.properties:2: the PEM text of ssl.keystore.key goes on here without a line continuation`) ||
		strings.Contains(err.Error(), "hunter") || strings.Contains(err.Error(), "\n") {
		t.Error(err)
	}
}

func TestOfAnAgentsFileOnlySecurityCounts(t *testing.T) {
	got, err := secureFile(t, "bootstrap.servers=b:1", "acks=0", "sasl.mechanism=PLAIN")
	must.True(t, err == nil && len(got) == 1 && got["sasl.mechanism"] == "PLAIN", "%q, %v", got, err)
	must.Match(t, "[hidden]", (Security{}).String(), "prints as")
}
