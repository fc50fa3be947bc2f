package config

import (
	"errors"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/plan"
)

// The kinds that are of one flag, or of flags that mean the same.
var (
	loadTime   = span(time.Second, 0, longest, "a time above 0 (90s, 5m), or 0 for no end")
	runTime    = span(time.Second, time.Second, longest, "a time of 1s or more (30s, 2m)") // a run of less says nothing
	restTime   = span(time.Second, 0, longest, "a time (5s, 1m), or 0")
	millis     = span(time.Millisecond, 0, longest, "milliseconds (10000) or a time (10s), 0 or more")
	deltaShare = share(math.SmallestNonzeroFloat64, math.Nextafter(1, 0), "above 0 and below 100% (3%)")
	topicKind  = scalar("string", func(s string) (string, error) { return s, plan.CheckTopic(s) })
	tagsKind   = kind{name: listKind.name, read: func(texts []string) (any, error) { return distinct(texts), nil }}
	fromKind   = scalar("string", func(s string) (plan.From, error) {
		from, err := plan.ParseFrom(s)
		if err == nil {
			err = from.Check(time.Now())
		}
		return from, err
	}).beginning()
	htmlKind = scalar("string", func(s string) (string, error) {
		if s == "-" || s == "" {
			return "", errors.New("name a file; kt report --output html writes the page of a run to stdout")
		}
		return s, nil
	})
)

// silent is a kind whose errors name the value themselves, or must not show it.
func silent(k kind) kind {
	k.silent = true
	return k
}

// beginning is a kind whose errors begin with the value.
func (k kind) beginning() kind {
	k.begins = true
	return k
}

func readURL(s string) (string, error) {
	if s == "" || strings.HasPrefix(s, "kafka://") { // by which a study varies the system
		return s, nil
	}
	_, err := plan.ParseURL(s)
	return s, err
}

func readWarmup(s string) (plan.Warmup, error) {
	if n, err := plan.ParseCount(s); err == nil {
		return plan.Warmup{Records: n}, nil
	}
	d, err := plan.ParseDuration(s)
	if err != nil {
		err = errors.New("write a time (10s) or a number of records (100000, 100k)")
	}
	return plan.Warmup{Duration: plan.Duration(d)}, err
}

// readDiskShare returns 0 for a disk that may get full.
func readDiskShare(s string) (float64, error) {
	number, percent := strings.CutSuffix(s, "%")
	v, err := plan.ParseNumber(number)
	switch {
	case s == "never":
		return 0, nil
	case !percent || err != nil || !(v >= 1 && v <= 100):
		return 0, errors.New("write a share from 1% to 100%, or never")
	case v == 100:
		return 0, nil
	}
	return v / 100, nil
}

// readLinger returns whole milliseconds.
func readLinger(s string) (int64, error) {
	d, err := plan.ParseTime(s, time.Millisecond)
	if err != nil || d < 0 || d%time.Millisecond != 0 {
		return 0, errors.New("write whole milliseconds, as 5 or 5ms")
	}
	return d.Milliseconds(), nil
}

// readDelimiter undoes the escapes that a shell leaves alone: \n, \t, \0, \x1e.
func readDelimiter(s string) (string, error) {
	text, err := strconv.Unquote(`"` + strings.ReplaceAll(s, `"`, `\"`) + `"`)
	if err != nil || text == "" {
		return "", errors.New("write the text between two payloads, \\n for a line end, \\t for a tab")
	}
	return text, nil
}

// MaxSpeed is the highest speed of a replay.
const MaxSpeed = 1000

func readSpeed(s string) (float64, error) {
	v, err := plan.ParseNumber(s)
	if err == nil && !(v > 0 && v <= MaxSpeed) {
		err = errors.New("give a number above 0, 1000 at most")
	}
	return v, err
}

func yesNo(s string) (bool, error) {
	if s != "yes" && s != "no" {
		return false, errors.New("it must be yes, no or yes,no")
	}
	return s == "yes", nil
}

// ddSize reads a size as dd does: 8k is 8192 bytes, 1M and 1MiB are 1048576, 1MB is 1000000.
func ddSize(text string) (int64, error) {
	size := text
	if n := len(text) - 1; n > 0 && strings.ContainsRune("kmgtKMGT", rune(text[n])) {
		size += "iB"
	}
	n, err := plan.ParseVolume(size)
	switch {
	case errors.Is(err, plan.ErrBits):
		return 0, err
	case err != nil || n > 1<<50:
		return 0, errors.New("not a size as in dd, up to 1 PiB; for example 8192, 8k or 80M")
	}
	return n, nil
}

// outputKind is a form of output. Those of other commands are no mistake in a file and a variable, which speak to every command.
func outputKind(outputs []string) kind {
	k := choice(outputs...)
	k.read = func(texts []string) (any, error) {
		if every := slices.Concat(Outputs, ReportOutputs); texts[0] == "" || slices.Contains(every, texts[0]) {
			return texts[0], nil
		}
		return nil, oneOf(texts[0], outputs)
	}
	return k
}

// distinct returns words without repeated and empty ones. A shell leaves an empty one where a variable is not set.
func distinct(words []string) []string {
	var all []string
	for _, word := range named(words) {
		if !slices.Contains(all, word) {
			all = append(all, word)
		}
	}
	return all
}

// named returns the words of a list without the empty ones.
func named(words []string) (out []string) {
	for _, word := range words {
		if word = strings.TrimSpace(word); word != "" {
			out = append(out, word)
		}
	}
	return out
}

// listed writes words as a sentence does.
func listed(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// readListen refuses an address that names no host or no port. To serve on all networks takes a word: 0.0.0.0.
func readListen(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || host == "" {
		return "", errors.New("write HOST:PORT, as 127.0.0.1:9111, or 0.0.0.0:9111 for all networks")
	}
	return addr, nil
}
