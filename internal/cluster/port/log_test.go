package port

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestALogTakesSoManyLinesAndSaysHowManyItLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		log := Bounded(func(text string) { lines = append(lines, text) })
		flood := func() {
			for range 3 * mostAtOnce {
				log("vm14 is there")
			}
		}
		flood()
		if n := len(lines); n < mostAtOnce || n > mostAtOnce+1 {
			t.Errorf("%d lines are logged at once", n)
		}
		lines = nil
		<-time.After(10 * lineEvery)
		flood()
		if n := len(lines); n < 10 || n > 11 || !strings.HasSuffix(lines[0], " lines before it were left out)") {
			t.Errorf("after a while, %d lines are logged: %q", n, lines)
		}
	})
}
