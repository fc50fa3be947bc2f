package result

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/kt-bench/kt/internal/secret"
	"github.com/kt-bench/kt/internal/stats"
)

// PageStart is the beginning of an HTML page of kt. A page of one run holds its whole document, so that it can be read as a run file can.
const PageStart = "<!doctype html>\n<!-- kt page -->\n"

// The element of a page that holds its run.
const (
	EmbedStart = `<script type="text/plain" id="run">`
	EmbedEnd   = `</script>`
)

// Bounds on the memory that a page may take: it may be from anybody.
const (
	maxPage     = 64 << 20 // bytes that are read of it
	maxDocument = 64 << 20 // bytes of what is packed in it: 100,000 partitions take half of it
	maxValues   = 1 << 20  // objects and arrays in that: one of three bytes may take 200 in memory
)

// Judgement is what a page or a thinned file holds of its run.
type Judgement struct {
	Result         Result       `json:"result,omitzero"`
	SendingSeconds float64      `json:"sending_seconds"` // the document of a run that only reads is without it
	Heat           []HeatColumn `json:"heat"`
	Loads          []Judgement  `json:"loads,omitempty"` // of a workload: what the documents of its loads are without
}

// complete gives the result what its document is without, and returns an error if no run can have its numbers.
func (j *Judgement) complete() error {
	r := &j.Result
	r.SendingSeconds, r.Heat = j.SendingSeconds, j.Heat
	for i := range r.Loads[:min(len(r.Loads), len(j.Loads))] {
		r.Loads[i].SendingSeconds, r.Loads[i].Heat = j.Loads[i].SendingSeconds, j.Loads[i].Heat
	}
	return r.check()
}

// Embed returns the text of the element for a run, of which doc is the JSON document.
func (r *Result) Embed(doc json.RawMessage) (string, error) {
	j := Judgement{SendingSeconds: r.SendingSeconds, Heat: r.Heat}
	for i := range r.Loads {
		j.Loads = append(j.Loads, Judgement{SendingSeconds: r.Loads[i].SendingSeconds, Heat: r.Loads[i].Heat})
	}
	text, err := json.Marshal(struct {
		Result json.RawMessage `json:"result"`
		Judgement
	}{doc, j})
	if err != nil {
		return "", err
	}
	return Pack([]byte(secret.ScrubJSON(string(text))))
}

// Pack returns a text compressed and in base64, as a page holds what is long.
func Pack(text []byte) (string, error) {
	var packed bytes.Buffer
	encode := base64.NewEncoder(base64.StdEncoding, &packed)
	z, err := gzip.NewWriterLevel(encode, gzip.BestCompression)
	if err == nil {
		_, err = z.Write(text)
	}
	if err == nil {
		err = errors.Join(z.Close(), encode.Close())
	}
	return packed.String(), err
}

// IsPage reports whether a file begins as a page of kt.
func IsPage(r io.ReaderAt) bool {
	start, _ := io.ReadAll(io.NewSectionReader(r, 0, int64(len(PageStart)))) // reading it as a run file reports the error
	return string(start) == PageStart
}

// ReadPage returns the result that a page holds. Its numbers are checked, because anybody may have written the page.
func ReadPage(r io.Reader) (Result, error) {
	page, err := io.ReadAll(io.LimitReader(r, maxPage))
	if err != nil {
		return Result{}, err
	}
	_, text, found := bytes.Cut(page, []byte("\n"+EmbedStart))
	if !found {
		return Result{}, errors.New("this page holds no run of its own: give the run files that it was made of")
	}
	text, _, found = bytes.Cut(text, []byte(EmbedEnd))
	if !found {
		return Result{}, errBadPage(io.ErrUnexpectedEOF)
	}
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(bytes.TrimSpace(text))))
	if err != nil {
		return Result{}, errBadPage(err)
	}
	doc, err := io.ReadAll(io.LimitReader(z, maxDocument+1))
	if err != nil {
		return Result{}, errBadPage(err)
	}
	if len(doc) > maxDocument || bytes.Count(doc, []byte("{"))+bytes.Count(doc, []byte("[")) > maxValues {
		return Result{}, errors.New("the run in this page is larger than any that kt writes")
	}
	var j Judgement
	if err := json.Unmarshal(doc, &j); err != nil {
		return Result{}, errBadPage(err)
	}
	if err := CheckSchema(j.Result.Schema); err != nil {
		return Result{}, err
	}
	if err := j.complete(); err != nil {
		return Result{}, fmt.Errorf("its numbers are impossible: %w", err)
	}
	return j.Result, nil
}

func errBadPage(err error) error { return fmt.Errorf("the run in this page is damaged: %w", err) }

// check returns an error if no run can have the numbers of a result.
func (r *Result) check() error {
	rec, o := &r.Records, cmp.Or(r.Outage, new(Outage))
	known := rec.Acknowledged + rec.Failed + rec.Unknown
	switch least := min(rec.Offered, rec.Acknowledged, rec.Failed, rec.Unknown, rec.Unsent, rec.Consumed, r.Throughput.Bytes); {
	case least < 0:
		return fmt.Errorf("a number of records or bytes is %d", least)
	case known > rec.Offered:
		return fmt.Errorf("%d records were offered, and %d have an outcome", rec.Offered, known)
	case r.Histograms.Service.Count() > rec.Acknowledged:
		return fmt.Errorf("%d records were acknowledged, and %d have a service time", rec.Acknowledged, r.Histograms.Service.Count())
	case len(r.Series) > 2*maxPoints || len(r.Events) > stats.MostEvents+maxRates:
		return fmt.Errorf("its series has %d points, and there are %d events", len(r.Series), len(r.Events))
	case o.BeganWith != "" && (o.BeganSeconds == nil || o.RecordsFailed == nil) || (o.LongestGapMS == nil) != (o.LongestGapFromSeconds == nil):
		return errors.New("its outage has no beginning")
	}
	for i := range r.Limits {
		if l := &r.Limits[i]; l.Value != nil && !l.Unit.Known() {
			return fmt.Errorf("its limit %q has a value in %q, and kt has no such unit", l.Expression, l.Unit)
		}
	}
	for i, s := range r.Stages {
		if !s.Valid && len(s.Invalid) == 0 {
			return fmt.Errorf("its stage %d is not valid for no reason", i+1)
		}
	}
	before := time.Duration(0)
	for _, c := range r.Heat {
		if c.Start < before || c.End < c.Start || c.End.Seconds() > longest || len(r.Heat) > maxHeat {
			return fmt.Errorf("its heat map has %d columns, one from %s to %s", len(r.Heat), c.Start, c.End)
		}
		before = c.Start
	}
	for i := range r.Series {
		p := &r.Series[i]
		if p.Seconds < 0 || p.StartSeconds < 0 || p.End() > longest || min(p.Acknowledged, p.Failed, p.Bytes, p.Consumed, p.ConsumedBytes) < 0 {
			return fmt.Errorf("its series has a step at %g s, of %g s, with %d records", p.StartSeconds, p.Seconds, p.Acknowledged)
		}
	}
	for i := range r.Loads {
		if l := &r.Loads[i]; len(l.Loads) > 0 || l.check() != nil {
			return fmt.Errorf("its load %q: %w", l.Name, cmp.Or(l.check(), errors.New("it has loads of its own")))
		}
	}
	return r.Trailer.check()
}
