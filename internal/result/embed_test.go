package result

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/stats"
)

// pageWith returns a page that holds a text.
func pageWith(t *testing.T, embedded string) string {
	t.Helper()
	packed := must.Have(Pack([]byte(embedded)))(t)
	return PageStart + "<p>x</p>\n" + EmbedStart + packed + EmbedEnd + "\n"
}

func TestAPageIsReadOnlyIfARunCanHaveItsNumbers(t *testing.T) {
	for want, change := range map[string]func(r *Result){
		"":                       func(*Result) {},
		"records or bytes is -1": func(r *Result) { r.Records.Offered = -1 },
		"10 records were":        func(r *Result) { r.Records.Acknowledged = 11 },
		"its series has a step":  func(r *Result) { r.Series = []Point{{StartSeconds: -1}} },
		"its series has 7201":    func(r *Result) { r.Series = make([]Point, 2*maxPoints+1) },
		"it lasted -2 s":         func(r *Result) { r.ElapsedSeconds = -2 },
		"its outage has no":      func(r *Result) { r.Outage = &Outage{BeganWith: stats.Exec} },
		"not valid for no":       func(r *Result) { r.Stages = []StageRow{{}} },
		"its schema is 1, and t": func(r *Result) { r.Schema = 1 },
	} {
		r := Result{Header: Header{Schema: Schema}, Records: Records{Offered: 10, Acknowledged: 10}}
		change(&r)
		doc, err := json.Marshal(r)
		must.Do(t, err)
		_, err = ReadPage(strings.NewReader(pageWith(t, `{"result":`+string(doc)+`}`)))
		must.Err(t, want, err, "the error")
	}
}

func TestADamagedPageIsAnErrorThatSaysSo(t *testing.T) {
	whole := pageWith(t, `{"result":{"schema":2},"heat":[{"end_ns":1000,"counts":[5]}]}`)
	must.Have(ReadPage(strings.NewReader(whole)))(t)
	for name, page := range map[string]string{
		"cut in its run":       whole[:len(whole)-40],
		"no base64":            strings.Replace(whole, EmbedStart, EmbedStart+"<", 1),
		"no JSON":              pageWith(t, `{`),
		"another document":     pageWith(t, `{"result":[]}`),
		"a count below 0":      pageWith(t, `{"result":{"schema":2},"heat":[{"counts":[-5]}]}`),
		"columns out of order": pageWith(t, `{"result":{"schema":2},"heat":[{"start_ns":5,"end_ns":6},{"end_ns":1}]}`),
		"half a column":        pageWith(t, `{"result":{"schema":2},"heat":[{"start_ns":5}]}`),
	} {
		if r, err := ReadPage(strings.NewReader(page)); err == nil || !strings.Contains(err.Error(), "damaged") && !strings.Contains(err.Error(), "impossible") {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	for name, of := range map[string]string{"points": `{},`, "columns": `[],`} {
		page := pageWith(t, `{"result":{"schema":2},"more":[`+strings.Repeat(of, maxValues)+`0]}`)
		must.Err(t, "larger than any", must.Fail(ReadPage(strings.NewReader(page))), "a page with a million empty %s", name)
	}
	must.Err(t, "no run of its own", must.Fail(ReadPage(strings.NewReader(PageStart+"<p>several runs</p>"))), "without a run")
}
