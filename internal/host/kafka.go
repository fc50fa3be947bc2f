package host

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/host/jvm"
)

// mostRead is the size in bytes up to which a file is read that a process names, or leaves where anybody may write.
const mostRead = 1 << 20

// complete adds to the command line of a JVM what it does not show.
func (f FS) complete(p *Process) {
	environ, _, err := f.ReadRegular(procFile(p.PID, "environ"), mostRead)
	if errors.Is(err, fs.ErrNotExist) { // of a copy of a machine's files
		err = nil
	}
	root := ""
	if f.OtherMounts(p.PID) {
		root = procFile(p.PID, "root")
	}
	if f.root == "/" { // the links in the root of a process lead to places in that root
		f.tree = below(f.root)
	}
	args, problem := jvm.Complete(p.Args, strings.Split(string(environ), "\x00"), func(name string) (string, error) {
		if !path.IsAbs(name) {
			name = path.Join(p.Dir, name)
		}
		b, _, err := f.ReadRegular(path.Join(root, Rel(name)), mostRead)
		return string(b), err
	})
	p.Args, p.OptionsErr = args, errors.Join(err, problem)
}

// OtherMounts reports whether a process sees other mounts than kt does. The lists are
// compared, which every user may read; the links in /proc/PID/ns only root may.
func (f FS) OtherMounts(pid int) bool {
	own, err := f.Text("proc/self/mountinfo")
	theirs, theirErr := f.Text(procFile(pid, "mountinfo"))
	return err == nil && theirErr == nil && own != theirs
}

// RunsKafka reports whether a process with these words on its command line, as [Process] has them, is Kafka's
// server: Apache's class, or Confluent's wrapper around it.
func (f FS) RunsKafka(pid int, args []string) bool {
	if len(args) == 0 || path.Base(args[0]) != "java" {
		return false
	}
	// A command line can say anything; the program cannot. Only root may look at it.
	if program, err := f.Link(path.Join("proc", strconv.Itoa(pid), "exe")); err == nil && path.Base(program) != "java" {
		return false
	}
	main := jvm.ParseFlags(args).Main
	return main == "kafka.Kafka" || main == "io.confluent.support.metrics.SupportedKafka"
}

// Perf reads what a JVM publishes of itself, in the /tmp that it sees first. Anybody may leave such a file: one of another user
// is not the JVM's.
func (f FS) Perf(p Process) (jvm.Perf, error) {
	inner := f.InnerPID(p.PID)
	files := f.Glob(fmt.Sprintf("proc/%d/root/tmp/hsperfdata_*/%d", p.PID, inner))
	if inner == p.PID { // else the file of that number is another process's
		files = append(files, f.Glob(fmt.Sprintf("tmp/hsperfdata_*/%d", inner))...)
	}
	err := fmt.Errorf("hsperfdata of process %d: %w", p.PID, fs.ErrNotExist)
	for _, name := range files {
		b, owner, readErr := f.ReadRegular(name, mostRead)
		if readErr != nil {
			err = readErr
		} else if owner == p.UID || owner < 0 {
			return jvm.ParsePerf(b)
		}
	}
	return jvm.Perf{}, err
}
