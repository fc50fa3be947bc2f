//go:build !race

package cmd

import "testing"

// TestUnracedScripts runs the scripts that make many short runs, print or refuse, or that depend on how soon kt
// answers. The race detector has seen all that they run in the other scripts (a study in study_killed, a trial in
// trial_broker), and would make them several times as slow.
func TestUnracedScripts(t *testing.T) { runScripts(t, "testdata/unraced") }
