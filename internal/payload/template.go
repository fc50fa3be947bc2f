package payload

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"text/template"
	"time"

	"github.com/kt-bench/kt/internal/plan"
)

// The bounds of a template.
const (
	maxTemplate    = 1 << 20 // bytes of its file
	templateValues = 10_000  // distinct ones, which records pick at random
	templateTries  = 4 * templateValues
	maxValue       = 1 << 20 // bytes
	templateTime   = 20 * time.Second
)

// words are those of the function "word".
var words = strings.Fields(`able acid aged air ally amber angle apple arch atlas autumn badge basin beach bell birch blue board bold brass
	bread brick bright brook cabin calm candle canyon cedar chalk city clear cliff cloud coast copper coral cotton crane crisp dawn deep delta
	green harbor hazel hill honey island ivory jade lake lark lemon light lily maple marble meadow mint mist moon moss north oak ocean olive
	opal orchard paper pearl pine plain plum pond quartz quiet rain raven ridge river rose sage sand silver sky snow spring stone storm summer
	swift tide timber valley velvet violet walnut warm wave west wheat wild willow wind winter wolf`)

// maker makes values of a template. It is the Writer of the template, which ends one that is too large.
type maker struct {
	bytes.Buffer
	rng   *rand.Rand
	tries int64
}

func (m *maker) Write(p []byte) (int, error) {
	if m.Len()+len(p) > maxValue {
		return 0, errors.New("it makes a value of more than 1 MiB")
	}
	return m.Buffer.Write(p)
}

// functions returns what a template can call.
func (m *maker) functions() template.FuncMap {
	return template.FuncMap{
		"seq":  func() int64 { return m.tries },
		"now":  now,
		"word": func() string { return words[m.rng.IntN(len(words))] },
		"uuid": func() string { // of version 4
			high, low := m.rng.Uint64()&^0xf000|0x4000, m.rng.Uint64()>>2|1<<63
			return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", high>>32, high>>16&0xffff, high&0xffff, low>>48, low&(1<<48-1))
		},
		"int": func(low, high int64) (int64, error) {
			if low > high {
				return 0, fmt.Errorf("%d is above %d", low, high)
			}
			return low + int64(m.rng.Uint64N(cmp.Or(uint64(high)-uint64(low)+1, math.MaxUint64))), nil
		},
		"float": func(low, high float64) (float64, error) {
			if !(low <= high) || math.IsInf(low, 0) || math.IsInf(high, 0) {
				return 0, fmt.Errorf("%g is above %g, or one is no number", low, high)
			}
			r := m.rng.Float64()
			return low*(1-r) + high*r, nil
		},
		"pick": func(of ...any) (any, error) {
			if len(of) == 0 {
				return nil, errors.New("it needs values to pick one from")
			}
			return of[m.rng.IntN(len(of))], nil
		},
	}
}

// now returns the time as in RFC 3339, or in a format: "unix" or "unixmilli", or a layout of Go's.
func now(format ...string) any {
	t := time.Now().UTC()
	switch layout := cmp.Or(strings.Join(format, " "), time.RFC3339); layout {
	case "unix":
		return t.Unix()
	case "unixmilli":
		return t.UnixMilli()
	default:
		return t.Format(layout)
	}
}

// fillTemplate makes the values of a template, and completes the plan with their mean and largest size. It waits for them as long as
// templateTime: a template may loop for ever and write nothing.
func fillTemplate(p *plan.Payload, rng *rand.Rand) (*Values, error) {
	made, of := make(chan struct{}), *p
	var v *Values
	var err error
	go func() {
		defer close(made)
		v, err = valuesOf(&of, rng)
	}()
	select {
	case <-made:
		*p = of
		return v, err
	case <-time.After(templateTime):
		return nil, templateError(p.File, fmt.Errorf("its values take more than %s to make", templateTime))
	}
}

// valuesOf is fillTemplate without an end.
func valuesOf(p *plan.Payload, rng *rand.Rand) (*Values, error) {
	m := &maker{rng: rng}
	text, err := readFile(p.File, maxTemplate)
	if err != nil {
		return nil, fmt.Errorf("--payload-template %s: %w", p.File, err)
	}
	text = bytes.TrimRight(bytes.TrimPrefix(text, byteOrderMark), "\r\n") // as an editor ends a file
	t, err := template.New(p.File).Funcs(m.functions()).Parse(string(text))
	if err != nil {
		return nil, templateError(p.File, err)
	}
	v, seen, total := &Values{}, make(map[[sha256.Size]byte]bool, templateValues), 0
	for ; len(v.lines) < templateValues && m.tries < templateTries; m.tries++ {
		m.Reset()
		if err = t.Execute(m, struct{}{}); err != nil {
			return nil, templateError(p.File, err)
		}
		switch total += m.Len(); {
		case m.Len() == 0:
			return nil, templateError(p.File, errors.New("it makes an empty value"))
		case total > maxPayloadFile:
			return nil, templateError(p.File, fmt.Errorf("its values take more than %d MiB", maxPayloadFile>>20))
		}
		if sum := sha256.Sum256(m.Bytes()); !seen[sum] {
			seen[sum] = true
			v.lines = append(v.lines, bytes.Clone(m.Bytes()))
			p.FileMean += float64(m.Len()) / templateValues
			p.FileMax = max(p.FileMax, m.Len())
		}
	}
	if n := len(v.lines); n < templateValues {
		return nil, templateError(p.File, fmt.Errorf("%d values of it have %d distinct ones, and %d are needed: {{seq}} or {{uuid}} makes each another", templateTries, n, templateValues))
	}
	return v, nil
}

// templateError returns an error with the file, and with the line where it is known: text/template begins with both.
func templateError(file string, err error) error {
	text, located := strings.CutPrefix(err.Error(), "template: "+file+":")
	if !located {
		return fmt.Errorf("--payload-template %s: %w", file, err)
	}
	return fmt.Errorf("--payload-template %s:%s", file, strings.Replace(text, fmt.Sprintf("executing %q at ", file), "", 1))
}
