package result

import "fmt"

// MisfitError is the error of a run that does not fit the system, or the files beside it. Nothing was done, and trying again does
// not help: the plan, the system or a file has to change.
type MisfitError struct{ Err error }

// Misfit returns a MisfitError.
func Misfit(format string, args ...any) error { return &MisfitError{fmt.Errorf(format, args...)} }

func (e *MisfitError) Error() string { return e.Err.Error() }

func (e *MisfitError) Unwrap() error { return e.Err }
