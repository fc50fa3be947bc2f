package tune

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
)

// The tests in this file end a process with SIGKILL after every single step that it
// makes, in turn, and look whether what it left can be put back.

// acts are what such a process does.
var acts = map[string]func(*Tree) error{
	"apply": func(t *Tree) error { return onlyError(t.Apply(planOfAll(), ApplyOptions{Time: aTime})) },
	"other": func(t *Tree) error { return onlyError(t.Apply(otherPlan(), ApplyOptions{Time: aTime})) },
	"again": func(t *Tree) error { // after somebody set another value
		return onlyError(t.Apply([]Change{Sysctl("vm.swappiness", "vm.swappiness", "30", "1")}, ApplyOptions{Time: aTime}))
	},
	"refused": func(t *Tree) error {
		t.kernel.(*folderKernel).refuses = map[string]error{swappinessFile: syscall.EROFS, tcpRmemFile: syscall.EROFS}
		return onlyError(t.Apply(planOfAll()[:2], ApplyOptions{Time: aTime}))
	},
	"rollback": func(t *Tree) error { return onlyError(t.Rollback(false)) },
}

var aTime = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func onlyError[T any](_ T, err error) error { return err }

const (
	killRoot = "KT_TEST_KILL_ROOT"
	killAct  = "KT_TEST_KILL_ACT"
	killStep = "KT_TEST_KILL_STEP"
)

// TestKilled is the process that is killed: the tests start it by its name.
func TestKilled(t *testing.T) {
	root := os.Getenv(killRoot)
	if root == "" {
		t.Skip("other tests start this one")
	}
	left := must.Have(strconv.Atoi(os.Getenv(killStep)))(t)
	tree, _ := treeOf(root)
	tree.after = func(string) {
		if left--; left == 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // until it arrives
		}
	}
	must.Do(t, acts[os.Getenv(killAct)](tree))
}

// killed runs an act in a process that is killed after a step, and reports whether it
// came that far.
func killed(t *testing.T, root, act string, step int) bool {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", killRoot+"="+root, killAct+"="+act, killStep+"="+strconv.Itoa(step))
	out, err := cmd.CombinedOutput()
	if err == nil {
		return false
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("%s, to be killed after step %d: %v\n%s", act, step, err, out)
	}
	return true
}

// do runs an act to its end, and returns its steps.
func do(t *testing.T, root, act string) []string {
	t.Helper()
	tree, _ := treeOf(root)
	var steps []string
	tree.after = func(step string) { steps = append(steps, step) }
	err := acts[act](tree)
	must.Hold(t, err == nil, "%s: %v", act, err)
	return steps
}

func TestKilledAtAnyStepEverythingIsPutBack(t *testing.T) {
	for _, row := range []struct {
		name   string
		before []string // acts that are done to their end
		act    string   // that is killed
		after  []string
	}{
		{"an apply, then rollback", nil, "apply", []string{"rollback"}},
		{"an apply, then the same again and rollback", nil, "apply", []string{"apply", "rollback"}},
		{"an apply of another profile over the first, then rollback", []string{"apply"}, "other", []string{"rollback"}},
		{"an apply of which everything fails, then rollback", nil, "refused", []string{"rollback"}},
		{"an apply of which everything fails, over another, then rollback", []string{"other"}, "refused", []string{"rollback"}},
		{"a rollback, then rollback again", []string{"apply"}, "rollback", []string{"rollback"}},
		{"a rollback, then apply and rollback", []string{"apply", "other"}, "rollback", []string{"apply", "rollback"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			step := 0
			for {
				step++
				tree, _ := machineTree(t)
				want := snapshotOf(t, tree.root)
				for _, act := range row.before {
					do(t, tree.root, act)
				}
				if !killed(t, tree.root, row.act, step) {
					break
				}
				for _, act := range row.after {
					do(t, tree.root, act)
				}
				sameTree(t, "killed after step "+strconv.Itoa(step)+": the tree", want, snapshotOf(t, tree.root))
				if t.Failed() {
					return
				}
			}
			must.True(t, step >= 10, "%s has only %d steps: it was not killed in the middle of anything", row.act, step)
		})
	}
}

// Each step of an apply has every fifteenth step of the rollbacks, and the fifteen after one another have them all.
func TestKilledTwiceEverythingIsPutBack(t *testing.T) {
	for step := 1; ; step++ {
		tree, _ := machineTree(t)
		want := snapshotOf(t, tree.root)
		if !killed(t, tree.root, "apply", step) {
			break
		}
		for again := 1 + step%15; killed(t, tree.root, "rollback", again); again += 15 {
		}
		do(t, tree.root, "rollback")
		sameTree(t, "an apply killed after step "+strconv.Itoa(step)+" and rollbacks killed: the tree", want, snapshotOf(t, tree.root))
		if t.Failed() {
			return
		}
	}
}

// TestKilledTheNewerValueIsPutBack is of an apply over a value that somebody set since
// the first one.
func TestKilledTheNewerValueIsPutBack(t *testing.T) {
	step := 0
	for {
		step++
		tree, _ := machineTree(t)
		do(t, tree.root, "apply")
		putText(t, tree.root, swappinessFile, "30\n")
		if !killed(t, tree.root, "again", step) {
			break
		}
		do(t, tree.root, "rollback")
		got := readText(t, tree.root, swappinessFile)
		must.Hold(t, got == "30\n", "killed after step %d: %s after Rollback is %q, want %q", step, swappinessFile, got, "30\n")
	}
	must.True(t, step >= 5, "the second apply has only %d steps: it was not killed in the middle of anything", step)
}

func TestTheJournalIsOnDiskBeforeTheFirstChange(t *testing.T) {
	tree, _ := machineTree(t)
	steps := do(t, tree.root, "apply")
	journalled := false
	for i, s := range steps {
		if s == "sync "+JournalFolder && i > 0 && steps[i-1] == "rename "+journalFile {
			journalled = true
		}
		change := strings.HasPrefix(s, "set ") || strings.Contains(s, " /etc")
		if change && !journalled {
			t.Errorf("step %d of Apply is %q, before the journal was on the disk; the steps are\n%s", i+1, s, strings.Join(steps, "\n"))
			break
		}
	}
	must.True(t, journalled, "Apply wrote no journal; its steps are\n%s", strings.Join(steps, "\n"))
}
