package tune

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"go.yaml.in/yaml/v3"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/host/jvm"
	"github.com/kt-bench/kt/internal/must"
)

// reading is a machine, and what a check says of it. testdata/readings.yaml tells what its fields are.
type reading struct {
	Says, Profile, On, Disks, Mount, FS, Java, Below, Want string

	Rule, Reads       *string
	Files, Set, Fails map[string]string
	GiB               int64
	Clock             *host.Clock
	Dir, With         yaml.Node
}

func TestReadings(t *testing.T) {
	var all struct {
		Machines map[string]yaml.Node
		Checks   []struct {
			ID    string
			Alike reading     `yaml:",inline"` // what its rows have in common
			Rows  []yaml.Node // each a reading
		}
	}
	must.Do(t, yaml.Unmarshal(must.Have(os.ReadFile("testdata/readings.yaml"))(t), &all))
	for _, c := range all.Checks {
		for _, node := range c.Rows {
			row := c.Alike
			row.Files = maps.Clone(row.Files) // to which its own are added
			must.Set(t, node, &row)
			s := settingOf(t, c.ID)
			m := row.machine(t, s, all.Machines)
			rule := m.Profile.Rule(s)
			if row.Rule != nil {
				rule = must.Have(ParseRule(strings.TrimPrefix(*row.Rule, "leave")))(t)
			}
			must.Match(t, row.Want, inLine(s.Check(m, rule)), "%s: %s\n got …", c.ID, row.Says)
		}
	}
}

// machine is the machine of a row.
func (row reading) machine(t *testing.T, s *Setting, named map[string]yaml.Node) *Machine {
	t.Helper()
	m := &Machine{Role: Broker, Calls: silent{row.Clock}, Profile: shipped(t, cmp.Or(row.Profile, "throughput"))}
	if on, ok := named[row.On]; ok {
		must.Set(t, on, m)
	}
	if row.On == "kafka" {
		m.Process.PerfErr = fs.ErrPermission
	}
	if row.GiB > 0 {
		m.Memory, m.MemTotal = row.GiB<<30, row.GiB<<30
	}
	if row.Java != "" {
		m.Process = cmp.Or(m.Process, new(Process))
		m.Process.JVM = jvm.ParseFlags(append([]string{"java"}, strings.Fields(row.Java)...))
	}
	m.Config.Values = row.Set
	switch {
	case row.Disks != "":
		m.Dirs = onDisks(strings.Fields(row.Disks)...)
	case row.Mount != "":
		f := strings.Fields(row.Mount)
		m.Dirs = onDisks("sda")
		m.Dirs[0].Mount = must.Have(host.ParseMounts("36 1 8:1 / /data " + f[1] + " - " + f[0] + " /dev/sda1 " + f[2]))(t)[0]
		m.Dirs[0].Storage.Device = "sda1"
	case row.FS != "":
		mount := host.Mount{Point: "/data", Root: "/", Type: row.FS, Options: []string{"rw", "relatime"}}
		m.Dirs = []Dir{{Path: "/data", Mount: mount, Space: host.Space{Total: 1 << 40, Free: 1 << 39}}}
	}
	if !row.Dir.IsZero() {
		must.Set(t, row.Dir, &m.Dirs[0])
	}
	if !row.With.IsZero() {
		must.Set(t, row.With, m)
	}
	files := make(map[string]string)
	if row.Reads != nil {
		names := []string{"CARD", "eth0", "PID", "7"}
		for _, d := range m.Dirs {
			names = append(names, "DEVICE", d.Storage.Device)
			for _, disk := range d.Storage.Disks {
				names = append(names, "DISK", disk.Name)
			}
		}
		files[strings.NewReplacer(names...).Replace(s.Reads[0])[1:]] = *row.Reads
	}
	for name, text := range row.Files {
		files[row.Below+name] = text
	}
	m.FS = treeOfFiles(files)
	for what, why := range row.Fails {
		err := map[string]error{"permission": fs.ErrPermission, "gone": fs.ErrNotExist, "unsupported": errors.ErrUnsupported, "broken": errors.New("broken"), "none": nil}[why]
		switch what {
		case "perf":
			m.Process.PerfErr = err
		case "config":
			m.Config.Err = err
		case "dir":
			m.Dirs[len(m.Dirs)-1].Err = err
		case "list":
			m.Dirs[0].ListErr = err
		case "nic":
			m.NICs[0].Err = err
		}
	}
	return m
}

// onDisks are log directories on disks: each its own, as xfs.
func onDisks(names ...string) (dirs []Dir) {
	for i, name := range names {
		d := host.Disk{Name: name, Match: fmt.Sprintf("KERNEL==%q", name)}
		if strings.HasPrefix(name, "sd") && name != "sds" || strings.HasPrefix(name, "vd") {
			d = hard(name)
		}
		point := fmt.Sprintf("/data%d", i+1)
		dirs = append(dirs, Dir{
			Path:    point + "/kafka",
			Mount:   host.Mount{Point: point, Root: "/", Type: "xfs", Source: "/dev/" + name, Major: 8, Minor: 16 * (i + 1), Options: []string{"rw", "noatime"}, Super: []string{"rw"}},
			Storage: host.Storage{Device: name, Disks: []host.Disk{d}},
			Space:   host.Space{Total: 1 << 40, Free: 1 << 39, Files: 1000, FreeFiles: 900},
		})
	}
	return dirs
}

// silent are system calls that tell nothing but the clock.
type silent struct{ clock *host.Clock }

func (silent) Space(string) (host.Space, error)       { return host.Space{}, errors.ErrUnsupported }
func (silent) Ethernet(string) (host.Ethernet, error) { return host.Ethernet{}, errors.ErrUnsupported }
func (silent) Root() bool                             { return false }
func (s silent) Clock() *host.Clock                   { return s.clock }

// inLine is a reading as "VERDICT CURRENT (WANTED) | NOTE | $ COMMAND | PATH: OLD → NEW, KEPT": of a
// note the words with numbers or the paths, of a command its first words.
func inLine(r Reading) string {
	s := string(r.Verdict)
	if r.Current != "" {
		s += " " + r.Current
	}
	if wanted, _, _ := strings.Cut(r.Wanted, " or "); wanted != "" {
		s += " (" + wanted + ")"
	}
	if r.Note != "" {
		s += " | " + values(r.Note)
	}
	if r.Command != "" {
		s += " | $ " + strings.Join(strings.Fields(r.Command)[:min(4, len(strings.Fields(r.Command)))], " ")
	}
	for _, c := range r.Changes {
		s += fmt.Sprintf(" | %s: %s → %s", c.Path, c.Old, c.New)
		if c.Pair != "" {
			s += fmt.Sprintf(" [%s: %s]", path.Base(c.Pair), c.PairOld)
		}
		for _, l := range c.Keep {
			if f := ownForms[2].form.FindString(l.Text); l.File == UdevFile && strings.HasSuffix(f, `="`+c.New+`"`) {
				s += ", udev " + strings.Split(f, ", ")[3]
			} else if strings.HasSuffix(l.Text, c.New) && c.Kind == WriteFile {
				s += ", kept"
			} else {
				s += "; " + strings.TrimSpace(path.Base(path.Dir(l.File))+" "+l.Head) + " " + l.Text
			}
		}
		if c.Advice != "" {
			s += ", advised"
		}
	}
	return s
}

// values are the numbers, units and paths in a note, and not its words.
func values(note string) string {
	var all []string
	for _, w := range strings.Fields(note) {
		if strings.ContainsAny(w, "0123456789/=") {
			all = append(all, strings.Trim(w, ",.:;"))
		}
	}
	return cmp.Or(strings.Join(all, " "), "…")
}

func settingOf(t *testing.T, id string) *Setting {
	t.Helper()
	return must.Have(Find(Catalogue(), id))(t)
}

// groups are the rows of some groups.
func groups(of ...Group) (all []*Setting) {
	for _, s := range Catalogue() {
		if slices.Contains(of, s.Group) {
			all = append(all, s)
		}
	}
	return all
}

// treeOfFiles is a machine whose files hold a line each.
func treeOfFiles(files map[string]string) host.FS {
	tree, denials := make(fstest.MapFS), []string(nil)
	for name, text := range files {
		tree[name] = &fstest.MapFile{Data: []byte(text + "\n")}
		if text == denied {
			denials = append(denials, name)
		}
	}
	return host.NewFS(sight{FS: tree, denied: denials})
}

// denied is the content of a file that may not be read.
const denied = "DENIED"

func hard(name string) host.Disk {
	return host.Disk{Name: name, Rotational: true, Match: fmt.Sprintf(`ATTR{wwid}=="naa.%s"`, name), Stable: true}
}
