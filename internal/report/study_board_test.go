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
		ID: "20261123-120140-partitions-63bsa", Runs: cells, Wanted: 3 * cells,
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

func TestTheBoardOfAStudyBeforeItsFirstRun(t *testing.T) {
	s := board(2)
	s.Turn, s.Turns, s.Now = study.Turn{}, 0, ""
	th := theme.New(theme.Options{Profile: colorprofile.NoTTY})
	if got := StudyBoardText(s, Options{Theme: th, Width: 1}, 1); !strings.Contains(got, "partitions") {
		t.Errorf("%q", got)
	}
}
