package tune

import (
	"errors"
	"os"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

// stubborn is a kernel that says no to some writes.
type stubborn struct {
	*folderKernel
	to   string // "path = value"
	does bool   // and makes the change all the same
}

func (k stubborn) Write(f *os.File, value string) error {
	p := f.Name()[len(k.root):]
	if p+" = "+value != k.to {
		return k.folderKernel.Write(f, value)
	}
	if k.does {
		if err := k.folderKernel.Write(f, value); err != nil {
			return err
		}
	}
	return errors.New("no")
}

// What the kernel made in spite of its no, or would not take back, is what Rollback finds.
func TestAWriteThatFailsHalfwayIsPutBackLater(t *testing.T) {
	for name, kernel := range map[string]func(*folderKernel) kernel{
		"it makes 2 of 1, and does not take 60 back": func(k *folderKernel) kernel {
			k.rounds = map[string]string{swappinessFile + " = 1": "2"}
			return stubborn{k, swappinessFile + " = 60", false}
		},
		"it makes the change, and says no": func(k *folderKernel) kernel { return stubborn{k, swappinessFile + " = 1", true} },
	} {
		tree, k := machineTree(t)
		before := snapshotOf(t, tree.root)
		tree.kernel = kernel(k)
		sameStates(t, name, "vm.swappiness failed", statesOf(mustApply(t, tree, planOfAll()[:1], ApplyOptions{})))
		tree.kernel = k
		sameStates(t, name, "vm.swappiness restored", undoneStates(mustRollback(t, tree, RollbackOptions{})))
		sameTree(t, name+": the tree after Rollback", before, snapshotOf(t, tree.root))
	}
}

// What is noted as not kept goes by the value that is there, and by the files that are.
func TestWhatIsNotKeptIsTold(t *testing.T) {
	tree, _ := machineTree(t)
	one := []Change{Sysctl("vm.swappiness", "vm.swappiness", "60", "1")}
	mustApply(t, tree, one, ApplyOptions{Runtime: true})
	unkept := func() []Change {
		t.Helper()
		return must.Have(tree.unkept())(t)
	}
	all := unkept()
	if len(all) != 1 || all[0].New != "1" || all[0].Keep[0].Text != "vm.swappiness = 1" {
		t.Fatalf("unkept = %+v, want swappiness of 1", all)
	}
	mustApply(t, tree, []Change{Sysctl("vm.swappiness", "vm.swappiness", "1", "10")}, ApplyOptions{Persist: true})
	mustApply(t, tree, one[:1], ApplyOptions{Runtime: true}) // as it is, for now
	if all = unkept(); len(all) != 1 || all[0].Keep[0].Text != "vm.swappiness = 1" {
		t.Errorf("with another value in the file unkept = %+v, want swappiness of 1", all)
	}
	mustApply(t, tree, all, ApplyOptions{})
	if all = unkept(); len(all) != 0 {
		t.Errorf("when it is kept unkept = %+v", all)
	}
}
