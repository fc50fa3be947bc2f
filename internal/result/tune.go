package result

import "slices"

// TuneCheck is what kt tune said of a host at the time of a run, in the role of a client.
type TuneCheck struct {
	Host     string        `json:"host"`
	Profile  string        `json:"profile"` // of the wanted values
	Checks   int           `json:"checks"`  // that were made and apply to the host
	Findings []TuneFinding `json:"findings"`
}

// TuneFinding is one check that did not pass. Checks of what could not be read are not among them.
type TuneFinding struct {
	ID      string `json:"id"`
	Title   string `json:"title"`
	Verdict string `json:"verdict"` // TuneFail, TuneWarn or TuneInfo
	Current string `json:"current"`
	Wanted  string `json:"wanted"`
	Why     string `json:"why"`
	Note    string `json:"note,omitempty"`
}

// The verdicts of findings, as kt tune has them.
const (
	TuneFail = "fail"
	TuneWarn = "warn"
	TuneInfo = "info" // not as wanted, or worth knowing; nothing depends on it
)

// Count returns how many findings have a verdict.
func (c *TuneCheck) Count(verdict string) int {
	return len(slices.DeleteFunc(slices.Clone(c.Findings), func(f TuneFinding) bool { return f.Verdict != verdict }))
}
