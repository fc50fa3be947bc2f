package config

import (
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/plan"
)

func (b *builder) payload() plan.Payload {
	f := b.f
	p := plan.Payload{
		Kind: plan.Letters, Keys: plan.KeyDistribution(f.keys), KeyRange: f.keyRange,
		Compressibility: f.compressibility,
	}
	for _, h := range f.headers {
		k, v, err := splitProperty("--header", h)
		if err != nil {
			b.errs = append(b.errs, err)
			continue
		}
		p.Headers = append(p.Headers, plan.Header{Key: k, Value: v})
	}
	switch b.chosen("record-size", "payload-file", "payload-monotonic") {
	case "payload-file":
		p.Kind, p.File, p.Delimiter = plan.File, f.payloadFile, b.delimiter()
	case "payload-monotonic":
		p.Kind = plan.Monotonic
	default:
		p.Size = b.size()
		if b.given("compressibility") {
			p.Kind = plan.Mixed
		}
	}
	if b.given("compressibility") && p.Kind != plan.Mixed {
		b.bad("--compressibility goes with generated payloads, not with --payload-file or --payload-monotonic")
	}
	return p
}

func (b *builder) size() plan.Size {
	if b.f.size == "" && !b.given("record-size") {
		return plan.FixedSize(plan.DefaultRecordSize)
	}
	z, err := plan.ParseSize(b.f.size)
	if err != nil {
		b.bad("--record-size: %w", err)
		return plan.FixedSize(plan.DefaultRecordSize)
	}
	return z
}

// delimiter undoes the escapes that a shell leaves alone: \n, \t, \0, \x1e. "" stands for line ends.
func (b *builder) delimiter() string {
	if !b.given("payload-delimiter") {
		return ""
	}
	s, err := strconv.Unquote(`"` + strings.ReplaceAll(b.f.delimiter, `"`, `\"`) + `"`)
	if err != nil || s == "" {
		b.bad("--payload-delimiter %q: write the text between two payloads, \\n for a line end, \\t for a tab", b.f.delimiter)
		return "\n"
	}
	return s
}
