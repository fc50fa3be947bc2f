package result

import (
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v3"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// story is a run, and fields of its result and of its last snapshot by their paths.
type story struct {
	Name     string
	Command  plan.Command // "": produce
	Rate     float64
	Header   yaml.Node
	Aborts   []string // conditions
	Add      []scene
	Seconds  []yaml.Node // windows of a second each
	End      *Trailer
	Broken   string // what a condition was when it came true; "": none did
	Result   map[string]yaml.Node
	Snapshot map[string]yaml.Node
}

// scene is a window or a sample, or a second of 1,000 records with a latency for each of even.
type scene struct {
	At       time.Duration // of the first of even
	Even     []time.Duration
	Window   yaml.Node
	Response map[time.Duration]int64
	Sample   *host.Sample
}

// to adds the scene to a fold.
func (s *scene) to(t *testing.T, f *Fold) {
	if s.Sample != nil {
		f.AddSample(*s.Sample)
		return
	}
	windows := make([]stats.Window, max(1, len(s.Even)))
	for i, latency := range s.Even {
		windows[i] = even(int(s.At/time.Second)+i, latency, nil)
	}
	for _, w := range windows {
		must.Set(t, s.Window, &w)
		for latency, n := range s.Response {
			w.Response.RecordN(latency, n)
		}
		f.AddWindow(w)
	}
}

func (s *story) fold(t *testing.T) *Fold {
	h := header(s.Rate)
	if s.Command != "" {
		h = readHeader(s.Command, s.Rate)
	}
	must.Set(t, s.Header, &h)
	f := NewFold(h)
	f.AbortOn(s.Aborts)
	for i := range s.Add {
		s.Add[i].to(t, f)
	}
	for i, row := range s.Seconds {
		w := stats.Window{Start: time.Duration(i) * time.Second, End: time.Duration(i+1) * time.Second}
		must.Set(t, row, &w)
		f.AddWindow(w)
	}
	if s.End != nil {
		f.Finish(*s.End)
	}
	return f
}

// holds compares fields of a value with what a row wants, by their paths.
func holds(t *testing.T, name string, got any, want map[string]yaml.Node) {
	t.Helper()
	for path, node := range want {
		v := reflect.ValueOf(got)
		for part := range strings.SplitSeq(path, ".") {
			if i, err := strconv.Atoi(part); err == nil {
				v = v.Index(i)
			} else {
				v = reflect.Indirect(v).FieldByNameFunc(func(field string) bool { return strings.EqualFold(field, part) })
			}
			must.Hold(t, v.IsValid(), "%s: there is no %s", name, path)
		}
		w := reflect.New(v.Type())
		must.Set(t, node, w.Interface())
		if diff := cmp.Diff(w.Elem().Interface(), v.Interface(), cmpopts.EquateApprox(0, 1e-9), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, path, diff)
		}
	}
}

// told runs the stories of a test.
func told(t *testing.T) {
	t.Helper()
	for _, s := range must.Rows[[]story](t, "stories") {
		f := s.fold(t)
		holds(t, s.Name, f.Snapshot(), s.Snapshot)
		holds(t, s.Name, f.Result(), s.Result)
		if broken := f.Broken(); (broken == "") != (s.Broken == "") || !strings.Contains(broken, s.Broken) {
			t.Errorf("%s: the condition is %q, want %q", s.Name, broken, s.Broken)
		}
	}
}

func TestAResultHasTheFiguresOfItsWindows(t *testing.T) { told(t) }

func TestASilenceIsThereWhileItLasts(t *testing.T) { told(t) }

func TestTheFirstLevelOfAConsumerLagIsNoGrowth(t *testing.T) { told(t) }

func TestStretchesAreJudgedOneByOne(t *testing.T) { told(t) }

func TestAConditionEndsARunInTheSecondInWhichItComesTrue(t *testing.T) { told(t) }

func TestOnlyWholeSecondsOfTheLoadMakeStretches(t *testing.T) { told(t) }
