package report

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"

	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/theme"
)

// board is a study of some cells whose first block is made.
func board(cells int) *StudyBoard {
	d := &study.Document{
		ID: "20261123-120140-partitions-63bsa", GridDoc: &study.GridDoc{Runs: cells, Wanted: 3 * cells},
		Study: &study.Study{Name: "partitions", About: "How many partitions does a topic want?", Repeats: 3, Factors: []study.Factor{{Name: "partitions"}}},
	}
	for i := range cells {
		c := study.CellDoc{At: map[string]string{"partitions": strconv.Itoa(i + 1)}, Runs: []study.RunDoc{{Turn: i + 2, Repeat: 1}}}
		c.Limits = []verdict.Limit{verdict.BrokerAcks}
		c.Throughput = study.Spread{Median: float64(100_000 + 10_000*i), N: 1}
		c.Latency.P99 = study.Spread{Median: 5000, N: 1}
		d.Cells = append(d.Cells, c)
	}
	d.Cells[1].LeftOut = "it takes 3 brokers"
	at := study.Cell{Index: cells / 2, At: []study.Flag{{Name: "partitions", Value: strconv.Itoa(cells/2 + 1)}}}
	return &StudyBoard{
		Document: d, Turn: study.Turn{Number: cells + 2, Cell: at, Repeat: 2}, Turns: 3*cells + 1,
		Now: "123,456 records/s, p99 4.21ms", Took: 90 * time.Second, Made: 9,
	}
}

func TestTheBoardOfAStudyFitsTheTerminal(t *testing.T) {
	for _, size := range [][2]int{{60, 15}, {80, 24}, {120, 36}} {
		for _, ascii := range []bool{false, true} {
			th := theme.New(theme.Options{Profile: colorprofile.NoTTY, ASCII: ascii})
			got := StudyBoardText(board(24), Options{Theme: th, Width: size[0]}, size[1])
			lines := strings.Split(got, "\n")
			if len(lines) > size[1] {
				t.Errorf("%d rows on a terminal of %d", len(lines), size[1])
			}
			for _, line := range lines {
				if len([]rune(line)) > size[0] {
					t.Errorf("%q is wider than %d columns", line, size[0])
				}
			}
			if !ascii {
				golden(t, fmt.Sprintf("board/%dx%d.txt", size[0], size[1]), got+"\n")
			}
		}
	}
}

// findBoard is a search after some trials.
func findBoard(trials int) *StudyBoard {
	d := &study.Document{
		FindDoc: new(study.FindDoc), ID: "20261123-153536-find-tikcg", Study: &study.Study{Loads: []study.Load{{Command: "produce", Flags: []study.Flag{{Name: "partitions", Value: "3"}}}}},
	}
	for i := range trials {
		rate := float64(100_000 + 1000*i)
		d.Trials = append(d.Trials, study.Trial{Step: study.Step{Kind: study.Halve, Rate: rate}, Outcome: study.Failed, Achieved: rate - 500, Reasons: []string{"the backlog grows"}})
	}
	return &StudyBoard{Document: d, Turn: study.Turn{Number: trials + 1, Repeat: 1}, Now: "123,456 records/s, p99 4.21ms"}
}

// trialBoard is a trial after some runs.
func trialBoard() *StudyBoard {
	d := &study.Document{TrialDoc: new(study.TrialDoc), ID: "20261123-153759-trial-2ljtl", Study: &study.Study{
		Loads: []study.Load{{Command: "produce"}}, Trial: &study.Proposal{Changes: []study.Flag{{Name: "linger", Value: "20ms"}}},
	}}
	d.Control.Runs, d.Changed.Runs = 5, 6
	for _, m := range []study.Metric{study.Throughput, study.P99} {
		c := study.Compared{Metric: m, Shift: 0.5, Low: 0.4, High: 0.6, Coverage: 0.95, Seen: 0.03, Verdict: study.Raised}
		c.A, c.B = study.Spread{Median: 10_000, N: 5}, study.Spread{Median: 15_000, N: 6}
		d.Effects = append(d.Effects, study.Effect{Compared: c})
	}
	return &StudyBoard{Document: d, Turn: study.Turn{Number: 13, Repeat: 7}}
}

func TestTheBoardOfASearchOrATrialFitsTheTerminal(t *testing.T) {
	th := theme.New(theme.Options{Profile: colorprofile.NoTTY})
	for name, s := range map[string]*StudyBoard{"find": findBoard(40), "trial": trialBoard()} {
		for _, size := range [][2]int{{60, 15}, {120, 36}} {
			got := StudyBoardText(s, Options{Theme: th, Width: size[0]}, size[1])
			lines := strings.Split(got, "\n")
			if len(lines) > size[1] {
				t.Errorf("%s: %d rows on a terminal of %d", name, len(lines), size[1])
			}
			for _, line := range lines {
				if len([]rune(line)) > size[0] {
					t.Errorf("%s: %q is wider than %d columns", name, line, size[0])
				}
			}
			golden(t, fmt.Sprintf("board/%s-%dx%d.txt", name, size[0], size[1]), got+"\n")
		}
	}
}

func TestTheBoardOfAStudyBeforeItsFirstRun(t *testing.T) {
	s := board(2)
	s.Turn, s.Turns, s.Now = study.Turn{}, 0, ""
	th := theme.New(theme.Options{Profile: colorprofile.NoTTY})
	if got := StudyBoardText(s, Options{Theme: th, Width: 1}, 1); !strings.Contains(got, "partitions") {
		t.Errorf("%q", got)
	}
}
