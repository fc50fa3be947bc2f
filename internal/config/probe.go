package config

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/plan"
)

// Probe is the settings of kt probe.
type Probe struct {
	Mode    string
	Tests   []string
	Size    int64 // bytes of each directory at most; 0: by the mode
	Blocks  []int64
	Direct  []bool // of the rows of dd
	DD      bool   // the rows of dd, and nothing else
	Compare string
	Force   bool

	Duration time.Duration // of each test; 0: by the mode

	form

	size, duration string
	blocks, direct []string
}

// ProbeModes are the values of --mode.
var ProbeModes = []string{"quick", "standard", "soak", "live"}

// NewProbe defines the flags of kt probe on a set.
func NewProbe(set *pflag.FlagSet) *Probe {
	p := new(Probe)
	group(set, groupProbe, func() {
		set.StringVar(&p.Mode, "mode", "quick", "`MODE`: quick (20 seconds a directory), standard (all tests, 2 to 3 minutes), soak (10 minutes of appends) or live (beside a running broker, hardly any load)")
		set.StringSliceVar(&p.Tests, "tests", nil, "only these `TESTS`: write, append, sync, commit, read, mixed, parallel (default: those of the mode)")
		set.StringVar(&p.size, "size", "", "write at most this many `BYTES` in each directory, repeatedly (default 1GiB, with standard and soak 4GiB, and at most a tenth of the free space)")
		set.StringVar(&p.duration, "duration", "", "measure for this `TIME` in each test (default: that of the mode)")
		set.BoolVar(&p.DD, "dd", false, "a table as from dd: a row for each of --blocks and --direct, with its dd command")
		set.StringSliceVar(&p.blocks, "blocks", nil, "`SIZES` of the blocks of --dd, as 8k,80m (default 8k,80000k)")
		set.StringSliceVar(&p.direct, "direct", nil, "`WAYS` of --dd: yes (oflag=direct), no (through the page cache), or yes,no (default)")
		set.StringVar(&p.Compare, "compare", "", "compare with an earlier result: a `FILE` of --output json")
		set.BoolVar(&p.Force, "force", false, "also probe tmpfs, overlay and network file systems, and a file system with another directory of a broker")
	})
	p.defineForm(set, "probe", DocumentOutputs, func() {
		defineQuiet(set, &p.Quiet)
		defineHTML(set, &p.HTML)
	})
	return p
}

// Load applies environment and configuration file, and makes the checks that need no machine.
// It reports every problem, each with its flag.
func (p *Probe) Load(sys System, nearest Nearest) error {
	if err := p.layers(sys, nearest); err != nil {
		return err
	}
	errs := []error{p.checkForm(nearest), checkHTML(p.set, p.HTML), oneOf("mode", p.Mode, ProbeModes, nearest)}
	if p.size != "" {
		var err error
		if p.Size, err = ddSize(p.size); err != nil {
			errs = append(errs, fmt.Errorf("--size %s: %w", p.size, err))
		}
	}
	if p.duration != "" {
		var err error
		if p.Duration, err = plan.ParseDuration(p.duration); err != nil || p.Duration < time.Second || p.Duration > 24*time.Hour {
			errs = append(errs, fmt.Errorf("--duration %s: not a time from 1s to 24h", p.duration))
		}
	}
	for _, text := range p.blocks {
		n, err := ddSize(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("--blocks %s: %w", text, err))
		}
		p.Blocks = append(p.Blocks, n)
	}
	for _, text := range p.direct {
		if text != "yes" && text != "no" {
			errs = append(errs, fmt.Errorf("--direct %q: it must be yes, no or yes,no", text))
		}
		p.Direct = append(p.Direct, text == "yes")
	}
	p.DD = p.DD || len(p.Blocks) > 0 || len(p.Direct) > 0
	if p.DD && (len(p.Tests) > 0 || p.set.Changed("mode") && typedOn(p.set.Lookup("mode"))) {
		errs = append(errs, errors.New("--dd does not go with --mode or --tests"))
	}
	return errors.Join(errs...)
}

// ddSize reads a size as dd does: 8k is 8192 bytes, 1M and 1MiB are 1048576, 1MB is
// 1000000.
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
