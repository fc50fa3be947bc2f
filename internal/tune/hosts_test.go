package tune

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/profiles"
)

// shipped is a profile that kt ships.
func shipped(t testing.TB, name string) *Profile {
	t.Helper()
	return must.Have(LoadProfile(name, profiles.Of("tune"), nil))(t)
}

// look looks at a host with a profile.
func look(t testing.TB, tree host.FS, calls host.Calls, p *Profile) *Machine {
	t.Helper()
	return must.Have(Look(context.Background(), tree, calls, Options{Profile: p}))(t)
}

// checkText is a report as lines: what was found, and what kt would change.
func checkText(r *Report) string {
	var b strings.Builder
	m := r.Machine
	fmt.Fprintf(&b, "%s: %s (%s)\n", m.Hostname, m.Role, m.RoleFrom)
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%s %s: %s → %s", f.ID, f.Verdict, f.Current, f.Wanted)
		if f.Note != "" {
			fmt.Fprintf(&b, " | %s", f.Note)
		}
		b.WriteByte('\n')
		for _, c := range f.Changes {
			fmt.Fprintf(&b, "  %s %s: %s → %s\n", c.Kind, c.Path, c.Old, c.New)
		}
		if f.Command != "" {
			fmt.Fprintf(&b, "  $ %s\n", f.Command)
		}
	}
	return b.String()
}

// The files in testdata/golden show what kt says of each host. go test -update
// writes them anew: read the difference.
func TestWhatIsFoundOnEachHost(t *testing.T) {
	profile := shipped(t, "throughput")
	for _, name := range fixtureHosts {
		tree, calls := fixture(t, name)
		got := checkText(Check(look(t, tree, calls, profile), Catalogue()))
		must.Golden(t, filepath.Join("testdata", "golden", name+".golden"), got)
	}
}

// sane tells what is wrong with a reading, whatever the machine.
func sane(f Finding) error {
	r := f.Reading
	switch {
	case !slices.Contains(Verdicts, r.Verdict):
		return fmt.Errorf("the verdict %q is none", r.Verdict)
	case (r.Verdict == Unknown || r.Verdict == NotApplicable) && r.Note == "":
		return fmt.Errorf("%s without a reason", r.Verdict)
	case (r.Verdict == Unknown || r.Verdict == NotApplicable) && len(r.Changes) > 0:
		return fmt.Errorf("%s, but it would be changed: %+v", r.Verdict, r.Changes)
	case len(r.Changes) > 0 && !f.Applies:
		return fmt.Errorf("it would be changed, but the setting says that kt does not: %+v", r.Changes)
	}
	for _, c := range r.Changes {
		if c.Setting != f.ID || c.Path == "" || c.New == "" || c.New == c.Old && c.Kind != KeepOnly {
			return fmt.Errorf("this is no change: %+v", c)
		}
	}
	return nil
}

func TestEveryReadingIsSaneOnEveryHost(t *testing.T) {
	for _, p := range []string{"throughput", "latency", "minimal"} {
		profile := shipped(t, p)
		for _, name := range fixtureHosts {
			tree, calls := fixture(t, name)
			m := look(t, tree, calls, profile)
			for _, role := range Roles {
				m.Role = role
				for _, f := range Check(m, Catalogue()).Findings {
					must.Err(t, "", sane(f), "%s as %s with the profile %s: %s", name, role, p, f.ID)
					must.True(t, !strings.ContainsAny(f.Current+f.Wanted+f.Note, "\n\x00"),
						"%s: %s: %q, %q, %q: not one line each", name, f.ID, f.Current, f.Wanted, f.Note)
				}
			}
		}
	}
}

// A host of which nothing can be read is neither fit nor unfit.
func TestNothingIsJudgedOfAnEmptyHost(t *testing.T) {
	tree, calls := fixture(t, "empty")
	m := look(t, tree, calls, shipped(t, "throughput"))
	for _, role := range Roles {
		m.Role = role
		for _, f := range Check(m, Catalogue()).Findings {
			must.True(t, f.Verdict == Unknown || f.Verdict == NotApplicable,
				"%s as %s: %s %s → %s (%s), want it not to be judged", f.ID, role, f.Verdict, f.Current, f.Wanted, f.Note)
		}
	}
}

// files are the names of all files in a tree.
func files(t testing.TB, tree fs.FS) []string {
	t.Helper()
	var names []string
	must.Do(t, fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			names = append(names, name)
		}
		return err
	}))
	return names
}

// FuzzCheck puts any content into one of a host's files: no check may panic, and
// each must have a verdict and a reason.
func FuzzCheck(f *testing.F) {
	profile := shipped(f, "throughput")
	type machine struct {
		tree  sight
		calls host.Calls
		files []string
	}
	machines := make([]machine, len(fixtureHosts)-1) // empty has no files
	for i := range machines {
		m := &machines[i]
		m.tree, m.calls = unpack(f, fixtureHosts[i])
		all := m.tree
		all.denied = nil
		m.files = files(f, all)
		for j := range m.files {
			if j%7 == i { // some of each; the fuzzer finds the others
				f.Add(i, j, j/7, []byte("[x] -1 18446744073709551616\n"))
			}
		}
	}
	for i, content := range []string{"", "\n", "-1", "9223372036854775808", "a b c", "[", "x [y", "0::/\n\x00", "1.5", "999999999999999999 0"} {
		f.Add(0, 0, i, []byte(content))
	}
	catalogue := Catalogue()
	f.Fuzz(func(t *testing.T, host1, file, role int, content []byte) {
		m := machines[uint(host1)%uint(len(machines))]
		m.tree.altered = m.files[uint(file)%uint(len(m.files))]
		m.tree.content = content
		looked, err := Look(context.Background(), host.NewFS(m.tree), m.calls, Options{Profile: profile})
		must.Hold(t, err == nil, "Look with %q in %s: %v", content, m.tree.altered, err)
		looked.Role = Roles[uint(role)%uint(len(Roles))]
		for _, found := range Check(looked, catalogue).Findings {
			must.Err(t, "", sane(found), "%s with %q in %s", found.ID, content, m.tree.altered)
		}
	})
}
