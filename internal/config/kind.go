package config

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/suggest"
)

// kind is how the texts of a flag are read.
type kind struct {
	name      string                            // of the type, for pflag and the help
	read      func(texts []string) (any, error) // The error gives the reason alone.
	choices   []string                          // nil: any text
	elsewhere []string                          // choices of other commands
	silent    bool                              // the reason has the value, or must not show it
	begins    bool                              // the reason begins with the value
	needed    bool                              // a list of nothing is a mistake
}

func scalar[T any](name string, read func(string) (T, error)) kind {
	return kind{name: name, read: func(texts []string) (any, error) { return read(texts[len(texts)-1]) }}
}

var (
	textKind     = scalar("string", func(s string) (string, error) { return s, nil })
	listKind     = kind{name: "stringSlice", read: func(texts []string) (any, error) { return texts, nil }} // A,B
	repeatedKind = kind{name: "stringArray", read: listKind.read}                                           // of A, and of B
	boolKind     = scalar("bool", func(s string) (bool, error) {
		on, err := strconv.ParseBool(s)
		if err != nil {
			err = errors.New("it must be true or false")
		}
		return on, err
	})
)

// each is a list whose items are read one by one.
func each[T any](k kind, read func(string) (T, error)) kind {
	k.read = func(texts []string) (any, error) {
		var all []T
		for _, text := range texts {
			one, err := read(text)
			if err != nil {
				return nil, err
			}
			all = append(all, one)
		}
		return all, nil
	}
	return k
}

// whole is a number without a fraction, in any form in which kt prints one: 1500000, 1,500,000 or 1.5M.
func whole(least, most int64) kind {
	return scalar("int", func(s string) (int64, error) {
		n, err := plan.ParseCount(s)
		switch {
		case err != nil:
			return 0, err
		case n >= least && n <= most:
			return n, nil
		case most >= 1<<31-1:
			if n > most {
				return 0, errors.New("it is too large")
			}
			return 0, fmt.Errorf("it must be %d or more", least)
		}
		return 0, fmt.Errorf("it must be from %d to %d", least, most)
	})
}

// choice is one of some words.
func choice(words ...string) kind {
	k := scalar("string", func(s string) (string, error) { return s, oneOf(s, words) })
	k.choices = words
	return k
}

// oneOf returns an error unless a text is one of some words.
func oneOf(text string, words []string) error {
	if slices.Contains(words, text) {
		return nil
	}
	return fmt.Errorf("it must be one of %s%s", strings.Join(words, ", "), suggest.Hint(text, words, ""))
}

// span is a time within bounds. A number alone is of the unit; 0: there is none. how says how it is written.
func span(unit, least, most time.Duration, how string) kind {
	return scalar("string", func(s string) (time.Duration, error) {
		d, err := plan.ParseTime(s, unit)
		if unit == 0 {
			d, err = plan.ParseDuration(s)
		}
		if err != nil || d < least || d > most {
			return 0, errors.New("write " + how)
		}
		return d, nil
	})
}

// fitting is a text that fits; how says how it is written.
func fitting(how string, fits func(string) bool) kind {
	return scalar("string", func(s string) (string, error) {
		if !fits(s) {
			return "", errors.New(how)
		}
		return s, nil
	})
}

const longest = time.Duration(1<<63 - 1)

// share is a part of a whole, as 3% or 0.03.
func share(least, most float64, how string) kind {
	return scalar("string", func(s string) (float64, error) {
		v, _, err := percent(s)
		if err != nil || v < least || v > most {
			return 0, errors.New("write a share " + how)
		}
		return v, nil
	})
}

// percent reads 3% or 0.03, and reports whether it was the first.
func percent(s string) (v float64, ok bool, err error) {
	number, ok := strings.CutSuffix(s, "%")
	if v, err = plan.ParseNumber(number); ok {
		v /= 100
	}
	return v, ok, err
}

// kinds are those that have a name in settings.json, beside int and one-of.
var kinds = map[string]kind{
	"text": textKind, "list": listKind, "texts": repeatedKind, "bool": boolKind,
	"number":     scalar("float64", plan.ParseNumber),
	"speed":      scalar("float64", readSpeed),
	"factor":     scalar("float64", readFactor),
	"precision":  share(0.001, 0.5, "from 0.1% to 50%"),
	"delta":      share(math.SmallestNonzeroFloat64, math.Nextafter(1, 0), "above 0 and below 100% (3%)"),
	"disk-share": scalar("string", readDiskShare),

	"bytes":       scalar("string", readBytes),
	"size":        scalar("string", plan.ParseSize),
	"volume":      scalar("string", plan.ParseVolume),
	"dd-size":     scalar("string", ddSize),
	"dd-sizes":    each(listKind, ddSize),
	"yes-no":      each(listKind, yesNo),
	"rate":        scalar("string", plan.ParseTarget),
	"max-rate":    scalar("string", plan.ParseRate),
	"ladder":      {name: listKind.name, read: func(texts []string) (any, error) { return plan.ParseLadder(texts) }},
	"assignments": each(repeatedKind, readAssignment),
	"tags":        {name: listKind.name, read: func(texts []string) (any, error) { return distinct(texts), nil }},

	"age":              span(0, 0, 100*365*24*time.Hour, "a time from 0 to a hundred years (12h, 7d)"),
	"load-time":        span(time.Second, 0, longest, "a time above 0 (90s, 5m), or 0 for no end"),
	"run-time":         span(time.Second, time.Second, longest, "a time of 1s or more (30s, 2m)"), // a run of less says nothing
	"study-time":       span(time.Second, 1, longest, "a time above 0 (30s, 2m)"),
	"calibration-time": span(time.Second, 2*time.Second, longest, "a time of 2s or more (4s, 1m)"), // a second between the first record read and the last
	"probe-time":       span(0, time.Second, 24*time.Hour, "a time from 1s to 24h"),
	"tune-interval":    span(0, 0, time.Hour, "a time from 0 to 1h (5s)"),
	"doctor-time":      span(time.Second, 0, longest, "a time (90s, 5m, 24h)"),
	"max-time":         span(0, 0, longest, "a time (30m, 2h), or 0 for no limit"),
	"rest":             span(time.Second, 0, longest, "a time (5s, 1m), or 0"),
	"milliseconds":     span(time.Millisecond, 0, longest, "milliseconds (10000) or a time (10s), 0 or more"),
	"report-interval":  span(time.Millisecond, 1, longest, "milliseconds above 0 (5000) or a time (5s)"),
	"linger":           scalar("string", readLinger),
	"warmup":           scalar("string", readWarmup),
	"work":             scalar("string", plan.ParseWork),
	"acks":             scalar("string", plan.ParseAcks),

	"keys":  scalar("string", func(s string) (string, error) { return s, plan.CheckKeys(s) }),
	"topic": scalar("string", func(s string) (string, error) { return s, plan.CheckTopic(s) }),
	"topics": {name: listKind.name, read: func(texts []string) (any, error) {
		name := strings.Join(distinct(texts), ",")
		_, err := plan.ParseTopics(name)
		return name, err
	}},
	"from":            scalar("string", readFrom),
	"delimiter":       scalar("string", readDelimiter),
	"regex":           scalar("string", regexp.Compile),
	"url":             scalar("string", readURL),
	"address":         scalar("string", withPort),
	"addresses":       each(listKind, withPort),
	"broker-patterns": each(listKind, readBrokerPattern),
	"listen": fitting("write HOST:PORT, as 127.0.0.1:9111, or 0.0.0.0:9111 for all networks", func(s string) bool { // to serve on all takes a word
		host, port, err := net.SplitHostPort(s)
		_, bad := strconv.ParseUint(port, 10, 16)
		return err == nil && bad == nil && host != ""
	}),
	"html": fitting("name a file; kt report --output html writes the page of a run to stdout", func(s string) bool { return s != "-" && s != "" }),

	"load-output": loadOutput(), "document-output": outputKind(DocumentOutputs), "report-output": outputKind(ReportOutputs),
	"collect-output": outputKind(CollectOutputs), "watch-output": outputKind(WatchOutputs), "workload-output": outputKind(WorkloadOutputs),
}

// kindOf returns the kind that a row of settings.json names.
func kindOf(text string) kind {
	text, isOptional := strings.CutPrefix(text, "optional ")
	name, rest, _ := strings.Cut(text, " ")
	k, ok := kinds[name]
	switch name {
	case "one-of":
		k = choice(strings.Fields(rest)...)
	case "int":
		least, most := int64(math.MinInt64), int64(math.MaxInt64)
		_, _ = fmt.Sscanf(rest, "%d..%d", &least, &most) // without a highest value it is any
		k = whole(least, most)
	default:
		if !ok {
			panic("settings.json: there is no kind " + name)
		}
	}
	k.silent = slices.Contains([]string{"bytes", "size", "volume", "rate", "max-rate", "url"}, name)
	k.begins = name == "ladder" || name == "from"
	k.needed = name == "topics"
	if read := k.read; isOptional { // the empty text is no value
		k.read = func(texts []string) (any, error) {
			if len(texts) == 0 || texts[len(texts)-1] == "" {
				return nil, nil
			}
			return read(texts)
		}
	}
	return k
}

func readFrom(s string) (plan.From, error) {
	from, err := plan.ParseFrom(s)
	return from, cmp.Or(err, from.Check(time.Now()))
}

func readBytes(s string) (int64, error) {
	if s == "-1" { // some properties have a meaning for it, and the others refuse it
		return -1, nil
	}
	return plan.ParseBytes(s)
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
	switch v, ok, err := percent(s); {
	case s == "never", ok && v == 1:
		return 0, nil
	case !ok || err != nil || !(v >= 0.01 && v < 1):
		return 0, errors.New("write a share from 1% to 100%, or never")
	default:
		return v, nil
	}
}

// readLinger returns whole milliseconds.
func readLinger(s string) (int64, error) {
	d, err := plan.ParseTime(s, time.Millisecond)
	if err != nil || d < 0 || d%time.Millisecond != 0 {
		return 0, errors.New("write whole milliseconds, as 5 or 5ms")
	}
	return d.Milliseconds(), nil
}

// readDelimiter undoes the escapes that a shell leaves alone: \n, \t, \x00, \x1e.
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

// outputKind is a form of output. Those of other commands are left out of files and variables, which speak to every command.
func outputKind(outputs []string) kind {
	k := choice(outputs...)
	for _, form := range slices.Concat(Outputs, ReportOutputs) {
		if !slices.Contains(outputs, form) {
			k.elsewhere = append(k.elsewhere, form)
		}
	}
	return k
}

// loadOutput is the form of the result of a load. Some forms only kt report has.
func loadOutput() kind {
	k := outputKind(Outputs)
	k.read = func(texts []string) (any, error) {
		err := oneOf(texts[0], Outputs)
		if slices.Contains(k.elsewhere, texts[0]) {
			err = fmt.Errorf("%w; kt report FILE --output %s writes it from the run file", err, texts[0])
		}
		return texts[0], err
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
