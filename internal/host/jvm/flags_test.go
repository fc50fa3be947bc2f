package jvm

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/kt-bench/kt/internal/must"
)

func TestFlagsOfACommandLine(t *testing.T) {
	for _, row := range []struct {
		says string
		args string
		want Flags
	}{
		{
			"kafka-server-start.sh",
			"java -Xmx1G -Xms1G -server -XX:+UseG1GC -XX:MaxGCPauseMillis=20 " +
				"-Xlog:gc*:file=/opt/kafka/logs/kafkaServer-gc.log:time,tags:filecount=10,filesize=100M " +
				"-Dkafka.logs.dir=/opt/kafka/logs -cp /opt/kafka/libs/* kafka.Kafka config/server.properties --override a=b",
			Flags{
				Xmx: 1 << 30, Xms: 1 << 30,
				XX:    map[string]string{"UseG1GC": "true", "MaxGCPauseMillis": "20"},
				D:     map[string]string{"kafka.logs.dir": "/opt/kafka/logs"},
				GCLog: "/opt/kafka/logs/kafkaServer-gc.log",
				Main:  "kafka.Kafka", MainArgs: []string{"config/server.properties", "--override", "a=b"},
			},
		},
		{
			"the last of two counts", "java -Xmx1g -Xmx512m -XX:+UseG1GC -XX:-UseG1GC M",
			Flags{Xmx: 512 << 20, XX: map[string]string{"UseG1GC": "false"}, Main: "M"},
		},
		{
			"the long names of the heap's size", "java -Xmx1g -XX:MaxHeapSize=2t -XX:InitialHeapSize=64K M",
			Flags{Xmx: 2 << 40, Xms: 64 << 10, XX: map[string]string{"MaxHeapSize": "2t", "InitialHeapSize": "64K"}, Main: "M"},
		},
		{"the oldest names of the heap's size", "java -mx100 -ms2k M", Flags{Xmx: 100, Xms: 2048, Main: "M"}},
		{"a size that is none, or too large", "java -Xmx -Xmxg -Xmx-1 -Xmx9999999999g -Xms1x M", Flags{Main: "M"}},
		{"a jar", "java -Xmx1k -jar app.jar -Xmx2k", Flags{Xmx: 1024, Main: "app.jar", MainArgs: []string{"-Xmx2k"}}},
		{"a jar without its name", "java -jar", Flags{}},
		{"a module", "java -p mods -m a/b.C x", Flags{Main: "a/b.C", MainArgs: []string{"x"}}},
		{"a module in one word", "java --module=a/b.C x", Flags{Main: "a/b.C", MainArgs: []string{"x"}}},
		{"arguments of options are no class", "java --class-path a --add-opens b/c=d -classpath e --add-exports=f/g=h M", Flags{Main: "M"}},
		{"a file of arguments", "java @opts M", Flags{Main: "M"}},
		{"a property without a value", "java -Da -Db= -Dc=d=e M", Flags{D: map[string]string{"a": "", "b": "", "c": "d=e"}, Main: "M"}},
		{"no class", "java -Xmx1k", Flags{Xmx: 1024}},
		{"a last option without its argument", "java -cp", Flags{}},
		{"nothing but java", "java", Flags{}},
		{"nothing", "", Flags{}},
	} {
		got := ParseFlags(strings.Fields(row.args))
		if diff := cmp.Diff(row.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: ParseFlags(%s) (-want +got):\n%s", row.says, row.args, diff)
		}
	}
}

func TestWhereCollectionsAreLogged(t *testing.T) {
	for args, want := range map[string]string{
		"-Xloggc:/var/log/gc.log":                        "/var/log/gc.log",
		"-verbose:gc":                                    "stdout",
		"-Xlog":                                          "stdout",
		"-Xlog:gc":                                       "stdout",
		"-Xlog:gc*=debug,safepoint:gc.log":               "gc.log",
		"-Xlog:safepoint,gc:stderr:time":                 "stderr",
		`-Xlog:gc:file="C:\logs\gc.log":time`:            `C:\logs\gc.log`,
		"-Xlog:all=info:file=all.log":                    "all.log",
		"-Xlog:gc:a.log -Xlog:gc*:b.log":                 "b.log",
		"-Xlog:gc:a.log -Xlog:safepoint:b.log":           "a.log",
		"-Xlog:gc:a.log -Xlog:disable":                   "",
		"-Xlog:disable -Xlog:all=warning:stderr":         "",
		"-Xlog:gc=off":                                   "",
		"-Xlog:gc+heap=debug":                            "",
		"-Xlog:class+load:file=classes.log":              "",
		"-Xlog:disable -Xlog:gc*,safepoint=info::uptime": "stdout",
		"-XX:+PrintGCDetails":                            "",
	} {
		must.Match(t, want, ParseFlags(append([]string{"java"}, strings.Fields(args)...)).GCLog, "ParseFlags(java %s).GCLog", args)
	}
}

// FuzzParseFlags: no command line panics, sizes are never below 0, and what follows
// the class is the end of the line.
func FuzzParseFlags(f *testing.F) {
	f.Add("java\x00-Xmx1G\x00-XX:+UseG1GC\x00-Dx=y\x00-Xlog:gc*:file=\"a:b\":time\x00-cp\x00x\x00kafka.Kafka\x00a")
	f.Add("java\x00-jar\x00a")
	f.Add("java\x00-XX:\x00-XX:+\x00-D\x00-Xlog:\x00-m")
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, "\x00")
		got := ParseFlags(args)
		if got.Xmx < 0 || got.Xms < 0 {
			t.Errorf("ParseFlags(%q): Xmx %d, Xms %d", args, got.Xmx, got.Xms)
		}
		if n := len(got.MainArgs); n > 0 && !cmp.Equal(args[len(args)-n:], got.MainArgs) {
			t.Errorf("ParseFlags(%q).MainArgs = %q, not the end of the line", args, got.MainArgs)
		}
	})
}
