package result

import (
	"fmt"

	"github.com/kt-bench/kt/internal/plan"
)

// MisfitError is the error of a run that does not fit the system, or the files beside it. Nothing was done, and trying again does
// not help: the plan, the system or a file has to change.
type MisfitError struct{ Err error }

// Misfit returns a MisfitError.
func Misfit(format string, args ...any) *MisfitError {
	return &MisfitError{fmt.Errorf(format, args...)}
}

// About returns the error as one of the value of a flag.
func (e *MisfitError) About(flag string) *MisfitError {
	return &MisfitError{plan.About(flag, e.Err)}
}

func (e *MisfitError) Error() string { return e.Err.Error() }

func (e *MisfitError) Unwrap() error { return e.Err }
