package verdict

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
)

func TestThePageQuotesTheThresholds(t *testing.T) {
	page := must.Have(os.ReadFile("../../../docs/limits.md"))(t)
	text := strings.Join(strings.Fields(string(page)), " ")
	percent := func(share float64) string { return fmt.Sprintf("%.4g %%", 100*share) }
	must.Has(t, "docs/limits.md", text,
		fmt.Sprintf("the **bound**: %d ms, or %s of the p99 of response if that is more, and always %d ms with `--engine wire`", sendDelayFloor.Milliseconds(), percent(sendDelayShare), wireDelay.Milliseconds()),
		"kt used at least "+percent(cpuSaturated)+" of the cores that it may use",
		"when at least "+percent(rateKept)+" of the rate was offered, and no more than "+percent(1-rateKept)+" of the records offered was left unsent",
		fmt.Sprintf("another %d standard deviations", PoissonSpread),
		fmt.Sprintf("| `%s` | at least %s of the records offered were not acknowledged", Failures, percent(failuresShow)),
		fmt.Sprintf("| `%s` | nothing was acknowledged for at least %d s, at a fixed rate for at least %d s", Stalled, int(stallShows/time.Second), int(StallAtRate/time.Second)),
		fmt.Sprintf("| `%s` | `acks=0`, and senders waited at least %s", Sockets, percent(bufferShows)),
		fmt.Sprintf("| `%s` | less than %d s was measured", Unknown, int(Shortest/time.Second)),
		fmt.Sprintf("| `%s` | kt used at least %s of its cores", ClientCPU, percent(cpuSaturated)),
		fmt.Sprintf("| `%s` | the run is not valid", Schedule),
		fmt.Sprintf("| `%s` | brokers asked kt to wait for at least %s", Throttle, percent(throttleShows)),
		fmt.Sprintf("| `%s` | the target was kept, and at most %s of what was offered, %.0f s of the target, or one record a process waited to be acknowledged when sending ended",
			string(None), percent(1-rateKept), waitingShows.Seconds()),
		fmt.Sprintf("| `%s` | the target was kept, and more than that waited | | `%s` | the same with `acks=0`", BrokerAcks, Sockets),
		fmt.Sprintf("| `%s` | at least %s of this machine's CPUs", HostCPU, percent(HostSaturated)),
		fmt.Sprintf("| `%s` | senders waited for acknowledgements at least %s of the time, with at least %s of the requests allowed in flight in use",
			BrokerAcks, percent(bufferShows), percent(inFlightShows)),
		fmt.Sprintf("| `%s` | none of these", Client),
		fmt.Sprintf("| `%s` | reading could not go on", ReadFailed),
		fmt.Sprintf("| `%s` | one record at a time", string(None)),
		fmt.Sprintf("| `%s` | the readers did not keep up with the writers", Consumers),
		fmt.Sprintf("| `%s` | the target was kept: at least %s of the rate was read", string(None), percent(rateKept)),
		fmt.Sprintf("| `%s` | the readers kept up with the writers: less than %s of the time there was consumer lag", string(None), percent(lagThere)),
		fmt.Sprintf("and they waited or were held back at least %s of the time", percent(waitShows)),
		fmt.Sprintf("| `%s` | readers had no partitions for at least %s", Rebalances, percent(rebalanceShows)),
		fmt.Sprintf("| `%s` | `--processing-time` and `--rate` took at least %s", Processing, percent(heldShows)),
		fmt.Sprintf("| `%s` | readers waited for records at least %s of the time, with a fetch at the busiest broker at least %s of the time",
			Fetches, percent(waitShows), percent(fetchShows)),
		fmt.Sprintf("| `%s` | none of these: one client", Reader),
		fmt.Sprintf("| `%s` | reading ended because no record came for `--timeout`", Stalled),
		fmt.Sprintf("| `%s` | it took less than %.0f s from the first record to the last", Unknown, Shortest.Seconds()),
	)
}
