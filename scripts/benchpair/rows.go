package main

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// The rows of a table. Each runs as a process of its own.
const (
	kt         = "kt"
	ktWire     = "kt-wire"
	kafka      = "kafka" // ProducerPerformance or ConsumerPerformance
	bare       = "franz-go"
	librdkafka = "librdkafka"
	socket     = "socket"

	other = "other-" // before the row of the other kt, where two are compared
)

var allRows = []string{kt, ktWire, kafka, bare, librdkafka, socket}

func isWire(row string) bool { return strings.TrimPrefix(row, other) == ktWire }

// chooseRows leaves the rows that can run, and says which are left out.
func (s *settings) chooseRows(names string) error {
	for name := range strings.SplitSeq(names, ",") {
		if !slices.Contains(allRows, name) {
			return fmt.Errorf("--rows %s: the rows are %s", name, strings.Join(allRows, ","))
		}
		switch {
		case s.against != "" && (name == kt || name == ktWire):
			s.rows = append(s.rows, name, other+name)
		case s.against != "":
		case name == librdkafka:
			c := exec.Command("scripts/lib/rdkafka")
			c.Stderr = os.Stderr
			path, err := c.Output()
			if err != nil {
				fmt.Println("librdkafka is left out: scripts/lib/rdkafka could not build it")
				continue
			}
			s.rdkafka = strings.TrimSpace(string(path))
			fallthrough
		default:
			s.rows = append(s.rows, name)
		}
	}
	return nil
}

// tool is a command line of kt, or of Kafka's tool java.
func (s *settings) tool(row, command, java string, args ...string) *exec.Cmd {
	var c *exec.Cmd
	ours := append([]string{command, "--output", "perf-test", "--result", "none", "--quiet"}, args...)
	if isWire(row) {
		ours = slices.Insert(ours, 1, "--engine", "wire")
	}
	switch {
	case row == kt || row == ktWire:
		c = exec.Command("bin/kt", ours...)
	case strings.HasPrefix(row, other):
		c = exec.Command(s.against, ours...)
	default:
		c = exec.Command("scripts/kafka", append([]string{"tool", java}, args...)...)
	}
	c.Stderr = os.Stderr
	return c
}

// measure runs c, which moves so many records. CPU and memory are those of its process and of the
// children that it waited for: scripts/kafka becomes the JVM, and asks Java for its version before.
func (s *settings) measure(c *exec.Cmd, records int, rate func(out string, records int) (float64, error)) (figures, error) {
	before := machineCPU()
	out, err := c.Output()
	if err != nil {
		return figures{}, fmt.Errorf("%w: %s", err, out)
	}
	cpu := (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds()
	f := figures{
		cpu:    cpu / float64(records) * 1e6,
		share:  cpu / (machineCPU() - before),
		memory: float64(c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) / 1024, // kilobytes on Linux
	}
	f.rate, err = rate(string(out), records)
	return f, err
}

// machineCPU is the CPU seconds that all processes and the kernel have used so far, in steps of
// 0.01 s; 0 where there is no /proc/stat.
func machineCPU() float64 {
	var user, nice, system, idle, iowait, irq, softirq float64
	data, _ := os.ReadFile("/proc/stat")
	_, _ = fmt.Sscanf(string(data), "cpu %f %f %f %f %f %f %f", &user, &nice, &system, &idle, &iowait, &irq, &softirq)
	return (user + nice + system + irq + softirq) / 100
}

// perRecord is what a small record takes up in a batch beside its value.
const perRecord = 10

// move moves the bytes of so many records between a process that is measured and one that is not.
func (s *settings) move(how string, records int) (figures, error) {
	chunk, chunks := s.batch, 0
	if s.rate > 0 {
		chunks = 200 // linger.ms is 5
		chunk = s.rate / chunks * (s.size + perRecord)
	}
	end := exec.Command("bin/bare", "peer", map[string]string{"send": "receive", "receive": "send"}[how], strconv.Itoa(chunk))
	stdout, err := end.StdoutPipe()
	if err != nil {
		return figures{}, err
	}
	if err := end.Start(); err != nil {
		return figures{}, err
	}
	defer func() { _, _ = end.Process.Kill(), end.Wait() }()
	address, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return figures{}, err
	}
	bytes := records * (s.size + perRecord)
	c := exec.Command("bin/bare", how, strings.TrimSpace(address), strconv.Itoa(bytes), strconv.Itoa(chunk), strconv.Itoa(chunks))
	f, err := s.measure(c, records, func(out string, records int) (float64, error) {
		rate, err := toldRate(out, bytes)
		return rate / float64(bytes) * float64(records), err
	})
	return f, err
}

// figures are what one run gave.
type figures struct {
	rate   float64 // records a second, as the tool itself printed it
	cpu    float64 // seconds, user and system, per million records, start-up included
	share  float64 // of all CPU used on the machine in the meantime
	memory float64 // MiB, peak resident
}

func medians(fs []figures) figures {
	of := func(value func(figures) float64) float64 { return median(fs, value) }
	return figures{
		rate:   of(func(f figures) float64 { return f.rate }),
		cpu:    of(func(f figures) float64 { return f.cpu }),
		share:  of(func(f figures) float64 { return f.share }),
		memory: of(func(f figures) float64 { return f.memory }),
	}
}

func median[T any](fs []T, of func(T) float64) float64 {
	values := make([]float64, len(fs))
	for i, f := range fs {
		values[i] = of(f)
	}
	slices.SortFunc(values, cmp.Compare)
	if n := len(values); n%2 == 0 {
		return (values[n/2-1] + values[n/2]) / 2
	}
	return values[len(values)/2]
}
