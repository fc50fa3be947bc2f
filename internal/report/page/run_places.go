package page

import "github.com/kt-bench/kt/internal/result"

// The places of parts that results do not have yet.

// userTags returns the tags that a user gave the run: Header.Tags, once it is there.
func userTags(_ *result.Result) []string { return nil }

// limits is the table of the limits that were asked for: Result.Limits (expression, value, held), once it is there.
func (p *runPage) limits() []Block { return nil }

// tune is what kt tune found on the machines at that time: Trailer.Tune, once it is there.
func (p *runPage) tune() []Block { return nil }
