package export

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result/metric"
)

// dashboard is the part of a Grafana dashboard that Grafana needs.
type dashboard struct {
	UID, Title    string
	SchemaVersion int
	Templating    struct {
		List []struct{ Name, Type, Definition string }
	}
	Panels []struct {
		ID         int
		Type       string
		Title      string
		Datasource source
		GridPos    struct{ X, Y, W, H int }
		Targets    []struct {
			RefID      string
			Expr       string
			Datasource source
		}
	}
}

type source struct{ Type, UID string }

var ownMetric = regexp.MustCompile(`\bkt_[a-z_]+`)

func TestTheDashboardIsOneThatGrafanaLoads(t *testing.T) {
	text := must.Have(os.ReadFile("../../docs/grafana/kt.json"))(t)
	var d dashboard
	must.Do(t, json.Unmarshal(text, &d))
	if d.SchemaVersion < 36 || d.UID == "" || d.Title == "" || len(d.Panels) == 0 {
		t.Errorf("schema %d, uid %q, title %q, %d panels", d.SchemaVersion, d.UID, d.Title, len(d.Panels))
	}
	if v := d.Templating.List; len(v) != 2 || v[0].Name != "datasource" || v[0].Type != "datasource" || v[1].Name != "run" || v[1].Definition != "label_values(kt_run_info, run_id)" {
		t.Errorf("variables %+v", v)
	}
	here := make(map[string]bool)
	for _, m := range metric.Exported() {
		here[m.Export] = true
	}
	variable := source{"prometheus", "${datasource}"}
	ids, cells := make(map[int]bool), make(map[[2]int]string)
	for _, p := range d.Panels {
		if ids[p.ID] || p.ID == 0 || p.Title == "" || p.Datasource != variable || len(p.Targets) == 0 {
			t.Errorf("panel %d %q: its id is not unique, or its title, data source or query is missing", p.ID, p.Title)
		}
		ids[p.ID] = true
		g := p.GridPos
		if g.X < 0 || g.Y < 0 || g.W < 1 || g.H < 1 || g.X+g.W > 24 {
			t.Errorf("%s is outside of the grid: %+v", p.Title, g)
		}
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				if other := cells[[2]int{x, y}]; other != "" {
					t.Fatalf("%s lies on %s", p.Title, other)
				}
				cells[[2]int{x, y}] = p.Title
			}
		}
		refs := make(map[string]bool)
		for _, q := range p.Targets {
			if refs[q.RefID] || q.RefID == "" || q.Datasource != variable || !strings.Contains(q.Expr, `run_id=~"$run"`) {
				t.Errorf("%s: query %q %q", p.Title, q.RefID, q.Expr)
			}
			refs[q.RefID] = true
			for _, name := range ownMetric.FindAllString(q.Expr, -1) {
				if !here[strings.TrimSuffix(name, "_bucket")] {
					t.Errorf("%s asks for %s, which kt does not have", p.Title, name)
				}
			}
		}
	}
}
