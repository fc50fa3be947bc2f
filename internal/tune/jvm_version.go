package tune

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

func checkJavaVersion(m place) Reading {
	version := m.Process.Perf.Version
	if version == "" {
		var err error
		if version, err = m.releaseVersion(); err != nil { // Java is there, and so is its version
			r := lacking(err, "neither the JVM nor its release file could be read")
			r.Verdict = Unknown
			return r
		}
	}
	major := javaMajor(version)
	if major == 0 {
		return Reading{Verdict: Unknown, Current: version, Note: "kt does not know this version of Java"}
	}
	r := Compare(strconv.Itoa(major), m.want, Warn)
	r.Current = version
	if r.Verdict == Warn && major >= 11 && m.beforeKafka4() {
		r.Verdict, r.Note = Info, fmt.Sprintf("Kafka %s supports it, Kafka 4 does not", m.kafkaVersion())
	}
	return r
}

// javaMajor is 17 of "17.0.15+6", and 8 of "1.8.0_392"; 0 for what is no version.
func javaMajor(version string) (n int) {
	_, _ = fmt.Sscanf(strings.TrimPrefix(version, "1."), "%d", &n)
	return n
}

// releaseVersion reads the release file of the Java that was started: it lies beside
// the bin folder.
func (m *Machine) releaseVersion() (string, error) {
	if len(m.Process.Args) == 0 {
		return "", fs.ErrNotExist
	}
	java, err := m.Link(fmt.Sprintf("proc/%d/exe", m.Process.PID))
	if err != nil {
		if java = m.Process.Args[0]; !path.IsAbs(java) {
			return "", err
		}
	}
	home := path.Dir(path.Dir(m.follow("", java))) // /usr/bin/java is a link to a link
	text, err := m.Text(m.within(m.Process.PID, path.Join(home, "release")))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "JAVA_VERSION="); ok {
			return strings.Trim(v, `"`), nil
		}
	}
	return "", fs.ErrNotExist
}
