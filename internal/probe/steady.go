package probe

const (
	// even is the variation up to which the device's rate counts as steady.
	even = 0.05
	// heldBack is how far above the device's rate the calls may write and still be
	// said to be held back by it.
	heldBack = 1.25
	// forLimited is how many seconds it must be held back in the end: in fewer it may
	// have waited by chance.
	forLimited = 3
)

// steady reports whether the last n seconds are an even rate at which the device
// holds the writers back. Before that they write to memory, and the device's rate
// is that of the kernel's flushing, whatever it is.
func steady(seconds []Second, n int) bool {
	if n < 2 || len(seconds) < n {
		return false
	}
	last := seconds[len(seconds)-n:]
	device := reached(last)
	m := mean(device)
	return m > 0 && mean(rates(last)) <= heldBack*m && variation(device) <= even
}

// throttled is the first second, as an index, from which on the device held the
// writers back to the end; len(seconds): never. It goes by means, for a single
// second may hold a burst of one writer, and of at least three seconds.
func throttled(seconds []Second) int {
	calls, device := rates(seconds), reached(seconds)
	for i := range max(len(seconds)-forLimited+1, 0) {
		if m := mean(device[i:]); m > 0 && mean(calls[i:]) <= heldBack*m {
			return i
		}
	}
	return len(seconds)
}

// sustained is the rate that reached the device while it held the writers back: of
// the last n seconds when those were steady, else of all of them; when it never
// did, of the last third. others is the share of what the device wrote then that
// cannot have been kt's.
func sustained(seconds []Second, n int) (rate, others float64) {
	if len(seconds) == 0 {
		return 0, 0
	}
	from := throttled(seconds)
	switch {
	case steady(seconds, n):
		from = len(seconds) - n
	case from == len(seconds):
		from = len(seconds) - max(len(seconds)/3, 1)
	}
	// kt's part of what the device wrote is at most what kt wrote meanwhile and what
	// was still in memory before.
	wrote, reachedBefore := moved(seconds[:from])
	backlog := max(wrote-reachedBefore, 0)
	calls, device := moved(seconds[from:])
	length := float64(len(seconds) - from)
	const tolerated = 0.1
	if others = 1 - (calls+backlog)/device; device > 0 && others > tolerated {
		return (calls + backlog) / length, others
	}
	return device / length, 0
}

// moved is how many MiB the calls and the device wrote in some seconds, each taken
// as a whole one.
func moved(seconds []Second) (calls, device float64) {
	n := float64(len(seconds))
	return mean(rates(seconds)) * n, mean(reached(seconds)) * n
}
