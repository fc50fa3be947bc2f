//go:build integration

package cmd

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
)

// The tests of this file let Debian's Prometheus scrape runs of kt.

// prometheusServer is a Prometheus that lives as long as its test.
type prometheusServer struct {
	t   *testing.T
	url string
}

// startPrometheus starts a Prometheus that scrapes an address each second.
func startPrometheus(t *testing.T, port int, target string, flags ...string) *prometheusServer {
	t.Helper()
	dir := t.TempDir()
	config := fmt.Sprintf("global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: kt\n  static_configs: [{targets: [%q]}]\n", target)
	must.Do(t, os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o600))
	addr := "127.0.0.1:" + strconv.Itoa(port)
	c := exec.Command("prometheus", append([]string{
		"--config.file", filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path", filepath.Join(dir, "data"), "--web.listen-address", addr,
	}, flags...)...)
	log := must.Have(os.Create(filepath.Join(dir, "log")))(t)
	defer log.Close()
	c.Stderr = log
	if err := c.Start(); err != nil {
		t.Fatalf("%v: scripts/check-tools prometheus says how to get it", err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	p := &prometheusServer{t: t, url: "http://" + addr}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		answer, err := http.Get(p.url + "/-/ready")
		if err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return p
			}
		}
		if time.Now().After(deadline) {
			text, _ := os.ReadFile(log.Name())
			t.Fatalf("Prometheus is not ready after a minute: %v\n%s", err, text)
		}
	}
}

// sample is one series of an answer to a query.
type sample struct {
	Metric    map[string]string
	Value     [2]any   // time and number, of an instant
	Values    [][2]any // the same, of a range
	Histogram [2]any   // likewise, of an instant
}

// number returns the number of a value.
func number(t *testing.T, v [2]any) float64 {
	t.Helper()
	text, _ := v[1].(string)
	n, err := strconv.ParseFloat(text, 64)
	must.Hold(t, err == nil, "value %v", v)
	return n
}

// query answers a PromQL expression for a moment in Unix seconds.
func (p *prometheusServer) query(expr string, at float64) []sample {
	p.t.Helper()
	answer := must.Have(http.Get(p.url + "/api/v1/query?" + url.Values{"query": {expr}, "time": {strconv.FormatFloat(at, 'f', 3, 64)}}.Encode()))(p.t)
	defer answer.Body.Close()
	var doc struct {
		Status, Error string
		Data          struct{ Result []sample }
	}
	err := json.NewDecoder(answer.Body).Decode(&doc)
	must.Hold(p.t, err == nil && doc.Status == "success", "%s: %s %v", expr, doc.Error, err)
	return doc.Data.Result
}

// number answers an expression with one series; 0 if it has none.
func (p *prometheusServer) number(expr string, at float64) float64 {
	p.t.Helper()
	switch all := p.query(expr, at); len(all) {
	case 0:
		return 0
	case 1:
		return number(p.t, all[0].Value)
	default:
		p.t.Fatalf("%s has %d series", expr, len(all))
		return 0
	}
}

// lastScrape returns the time of the last scrape that found a run in a stage.
func (p *prometheusServer) lastScrape(run, stage string) float64 {
	p.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		now := float64(time.Now().UnixMilli()) / 1000
		for _, s := range p.query(fmt.Sprintf(`kt_run_stage{run_id=%q,stage=%q}[5m]`, run, stage), now) {
			for _, v := range slices.Backward(s.Values) {
				if at, ok := v[0].(float64); ok && number(p.t, v) == 1 {
					return at
				}
			}
		}
	}
	p.t.Fatalf("Prometheus has not seen that the run was %s", stage)
	return 0
}

func (k *kafkaCluster) isScraped(t *testing.T) {
	for _, one := range []struct {
		name        string
		args, flags []string
		count, last string // PromQL of the count and of the histogram of response
	}{
		{
			"native histograms of a roundtrip", nil,
			[]string{"--enable-feature=native-histograms"},
			`histogram_count(kt_response_seconds{%s})`, `kt_response_seconds{%s}`,
		},
		{
			"classic histograms of a roundtrip with a warm-up",
			[]string{"--warmup", "1s"},
			nil,
			`kt_response_seconds_count{%s}`, `kt_response_seconds_bucket{%s}`,
		},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			port := nextPort()
			listen := "127.0.0.1:" + strconv.Itoa(port+1)
			p := startPrometheus(t, port, listen, one.flags...)
			r := k.in(t).kt("roundtrip", append(one.args, "--topic", "scraped-"+strconv.Itoa(port), "--rate", "300", "--duration", "12s", "--metrics-listen", listen)...)
			res, code := r.wait()
			must.Hold(t, code == exitOK || code == exitNotValid, "exit code %d\n%s", code, r.stderr.String())
			of, at := fmt.Sprintf(`run_id=%q,phase="measured"`, res.RunID), p.lastScrape(res.RunID, "finished")
			for name, want := range totalsOf(&res) {
				got := p.number("sum("+name+"{"+of+"})", at)
				must.True(t, got == float64(want), "%s is %v, want %d", name, got, want)
			}
			got := p.number(fmt.Sprintf(one.count, of), at)
			must.True(t, got == float64(res.Latency.Response.Count), "%v response times, want %d", got, res.Latency.Response.Count)
			checkDashboard(t, p, p.lastScrape(res.RunID, "running"))
			width := 1.1 // of a native bucket
			if one.flags == nil {
				width = 2.5
			}
			p99 := p.number(fmt.Sprintf("histogram_quantile(0.99, "+one.last+")", of), at)
			want := float64(res.Latency.Response.P99) / 1e6
			must.True(t, math.Max(p99/want, want/p99) <= width, "p99 is %v s, want about %v s", p99, want)
		})
	}
}

// totalsOf returns the records of a result by the metric of each.
func totalsOf(res *result.Result) map[string]int64 {
	return map[string]int64{
		"kt_records_offered_total":      res.Records.Offered,
		"kt_records_acknowledged_total": res.Records.Acknowledged,
		"kt_records_failed_total":       res.Records.Failed,
		"kt_records_unknown_total":      res.Records.Unknown,
		"kt_records_unsent_total":       res.Records.Unsent,
		"kt_records_consumed_total":     res.Records.Consumed,
		"kt_acknowledged_bytes_total":   res.Throughput.Bytes,
		"kt_broker_requests_total":      requestsOf(res),
	}
}

func requestsOf(res *result.Result) (n int64) {
	for _, b := range res.Brokers {
		n += b.Requests
		if b.Fetch != nil {
			n += b.Fetch.Requests
		}
	}
	return n
}

// withoutErrors are the panels that are empty while nothing fails.
var withoutErrors = map[string]bool{"sum by (code) (rate(kt_records_failed_total": true, "sum by (code) (rate(kt_fetch_errors_total": true}

// checkDashboard answers every query of the Grafana dashboard.
func checkDashboard(t *testing.T, p *prometheusServer, at float64) {
	t.Helper()
	text := must.Have(os.ReadFile("../docs/grafana/kt.json"))(t)
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	must.Do(t, json.Unmarshal(text, &dashboard))
	asked := 0
	for _, panel := range dashboard.Panels {
		for _, q := range panel.Targets {
			asked++
			expr := strings.NewReplacer("$__rate_interval", "30s", "$run", ".*").Replace(q.Expr)
			answer := p.query(expr, at)
			head, _, _ := strings.Cut(expr, "{")
			must.True(t, len(answer) != 0 || withoutErrors[head], "%s: no data for %s", panel.Title, expr)
			for _, s := range answer {
				must.True(t, !math.IsNaN(number(t, s.Value)), "%s: %s has no number", panel.Title, expr)
			}
		}
	}
	must.True(t, asked >= 20, "the dashboard has %d queries", asked)
}
