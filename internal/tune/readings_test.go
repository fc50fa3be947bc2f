package tune

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
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
	"github.com/kt-bench/kt/profiles"
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

func TestOneReadingOfSeveral(t *testing.T) {
	of := func(name string, v Verdict, current, note string) part {
		return part{name, Reading{Verdict: v, Current: current, Note: note}}
	}
	root := func(name string) part { return of(name, Unknown, "", needsRoot) }
	shown := func(r Reading) string {
		return strings.TrimSuffix(fmt.Sprintf("%s %s | %s", r.Verdict, r.Current, r.Note), " | ")
	}
	for _, row := range []struct {
		says  string
		parts []part
		want  string
	}{
		{"all alike", []part{of("sda", OK, "0", ""), of("sdb", OK, "0", "")}, "ok 0"},
		{"the worst counts", []part{of("sda", OK, "0", "good"), of("sdb", Warn, "2", "bad")}, "warn sdb: 2 | bad"},
		{"what is not known is said once, with those it is not known of", []part{root("/a"), of("/b", OK, "xfs", ""), root("/c")}, "unknown  | /a,/c: needs root"},
		{"of many the first are named", []part{root("/a"), root("/b"), root("/c"), root("/d"), root("/e")}, "unknown  | /a,/b,/c and 2 more: needs root"},
		{"two reasons", []part{root("/a"), of("/b", Unknown, "", "no size")}, "unknown  | /a: needs root; /b: no size"},
		{"a reason that has the name in it", []part{of("eth0", Unknown, "", "eth0: no counters")}, "unknown  | eth0: no counters"},
	} {
		must.Match(t, row.want, shown(together(row.parts)), "%s: together(…)\n got …", row.says)
	}
}

// Whoever can read nothing, or reads nonsense, may neither praise nor blame.
func TestMachinesThatTellNothingOrNonsenseAreNotJudged(t *testing.T) {
	garbage, refused := make(map[string]string), make(map[string]string)
	names := strings.NewReplacer("DISK", "sda", "CARD", "eth0", "BOND", "bond0", "DEVICE", "sda", "mdN", "md0", "-N", "-0", "PID", "7", "cpu*", "cpu0", "state*", "state1", "node*", "node0")
	for _, s := range Catalogue() {
		for _, name := range s.Reads {
			if name = names.Replace(name); strings.HasPrefix(name, "/") && !strings.ContainsAny(name, "*…:") {
				garbage[strings.TrimPrefix(name, "/")], refused[strings.TrimPrefix(name, "/")] = "\x00[] ] 12x -", denied
			}
		}
	}
	for _, folder := range []string{"sys/class/net/eth0/statistics", "etc/systemd/system/timers.target.wants"} {
		delete(garbage, folder)
		delete(refused, folder)
	}
	disks := []Dir{{Path: "/x", Mount: host.Mount{Type: "ext4"}, Storage: host.Storage{Device: "sda", Disks: []host.Disk{hard("sda")}}}}
	for _, profile := range ProfileNames(profiles.Of("tune")) {
		p := shipped(t, profile)
		for says, m := range map[string]*Machine{
			"an empty machine":                {FS: treeOfFiles(nil), Calls: silent{}, Profile: p},
			"an empty machine with a process": {FS: treeOfFiles(nil), Calls: silent{}, Profile: p, Process: &Process{Process: host.Process{OptionsErr: fs.ErrPermission}, PerfErr: fs.ErrPermission}, Config: Config{Err: fs.ErrPermission}, Dirs: []Dir{{Err: fs.ErrNotExist}}},
			"garbage":                         {FS: treeOfFiles(garbage), Calls: silent{}, Profile: p, Kernel: "5.x", MemTotal: -5, Memory: -5, CPUs: -1},
			"garbage and disks":               {FS: treeOfFiles(garbage), Calls: silent{}, Profile: p, Role: Broker, Dirs: disks, NICs: []NIC{{Name: "eth0"}}, Logical: 4},
			"files that may not be read":      {FS: treeOfFiles(refused), Calls: silent{}, Profile: p, Role: Broker, Dirs: disks, NICs: []NIC{{Name: "eth0"}}, Logical: 4},
		} {
			for _, s := range Catalogue() {
				r := s.Check(m, p.Rule(s))
				must.True(t, !slices.Contains([]Verdict{OK, Warn, Fail}, r.Verdict) || knownWithoutFiles[s.ID],
					"%s, %s on %s: %+v, want neither good nor bad", profile, s.ID, says, r)
				must.True(t, (r.Note != "" || r.Verdict == Info || knownWithoutFiles[s.ID]) && len(r.Changes) == 0,
					"%s, %s on %s: %+v, want a reason and no change", profile, s.ID, says, r)
			}
		}
	}
}

// knownWithoutFiles are the settings that need no file for their verdict on the machines of
// the test above: what its log directory is on is known, and nothing tells of a container.
var knownWithoutFiles = map[string]bool{
	"context.container": true, "disk.shared": true, "disk.raid": true, "disk.network_fs": true, "disk.overlay_tmpfs": true, "fs.type": true,
}

// Under the governor performance a driver refuses every other preference, so that undoing from the end has to come to
// the governor first. A limit above fs.nr_open cannot be set.
func TestChangesAreMadeInOrder(t *testing.T) {
	ids := IDs()
	for first, then := range map[string]string{"cpu.epp": "cpu.governor", "fs.nr_open": "limits.nofile"} {
		must.True(t, slices.Index(ids, first) < slices.Index(ids, then), "%s is set after %s: it has to come first", first, then)
	}
}

// TestWhatIsCountedOfAProcess is of what has too many lines for a row of readings.yaml.
func TestWhatIsCountedOfAProcess(t *testing.T) {
	files := map[string]string{"proc/7/maps": strings.Repeat("x\n", 59999), "proc/sys/vm/max_map_count": "65530"}
	for i := range 80 {
		files[fmt.Sprintf("proc/7/fd/%d", i)] = "x"
	}
	for _, row := range []struct{ says, id, limit, want string }{
		{"few", "limits.open_files", "100000", "ok 80 of 100000 (≤ 70 %)"},
		{"nearly all", "limits.open_files", "100", "warn 80 of 100 (≤ 70 %)"},
		{"a limit of nothing", "limits.open_files", "0", "unknown | 0"},
		{"more mappings than segments", "vm.max_map_count", "0", "fail 65530 (≥ 262144) | 60000 | /proc/sys/vm/max_map_count: 65530 → 262144, kept"},
	} {
		files["proc/7/limits"] = "Limit  Soft  Hard\nMax open files  " + row.limit + "  " + row.limit + "  files"
		m := &Machine{FS: treeOfFiles(files), Calls: silent{}, Profile: shipped(t, "throughput"), Dirs: []Dir{{Segments: 10}}}
		m.Process = &Process{Process: host.Process{PID: 7}}
		s := settingOf(t, row.id)
		must.Match(t, row.want, inLine(s.Check(m, m.Profile.Rule(s))), "%s: %s\n got …", row.id, row.says)
	}
}

func TestRemountsShowTheLineOfFstab(t *testing.T) {
	for _, row := range []struct{ says, fstab, want string }{
		{"with options", "# data\nUUID=1 /data xfs defaults,relatime 0 0", "in /etc/fstab: UUID=1 /data xfs defaults,noatime 0 0"},
		{"a line that is cut off", "UUID=1 /data xfs", "/etc/fstab does not name /data: add noatime where it is mounted from"},
		{"without the mount", "UUID=1 / xfs defaults 0 0", "/etc/fstab does not name /data: add noatime where it is mounted from"},
	} {
		m := &Machine{FS: treeOfFiles(map[string]string{"etc/fstab": row.fstab})}
		m.Dirs = onDisks("sda")
		m.Dirs[0].Mount.Point, m.Dirs[0].Mount.Options = "/data", []string{"rw", "relatime"}
		r := settingOf(t, "fs.noatime").Check(m, Rule{Equal, "noatime"})
		want := []Change{{Setting: "fs.noatime", Kind: Remount, Path: "/data", Old: "relatime", New: "noatime", Advice: row.want}}
		must.Match(t, want, r.Changes, "%s: changes", row.says)
	}
}

func TestListenerPorts(t *testing.T) {
	for text, want := range map[string][]int64{
		"PLAINTEXT://:9092": {9092},
		"PLAINTEXT://0.0.0.0:9092, SSL://host:9093 ,X://[::]:9094": {9092, 9093, 9094},
		"PLAINTEXT://:0":     nil, // any port
		"PLAINTEXT://:99999": nil,
		"":                   nil,
		":::,,:x":            nil,
	} {
		must.Match(t, want, listenerPorts(text), "listenerPorts(%q)", text)
	}
}

func TestTheLastFileOfAUnitWins(t *testing.T) {
	limit := func(n string) string { return "[Service]\nLimitNOFILE=" + n + "\n" }
	const usr, etc, run = "usr/lib/systemd/system/", "etc/systemd/system/", "run/systemd/"
	for _, row := range []struct {
		says  string
		unit  string
		files map[string]string
		value string
		file  string
	}{
		{"its own file", "kafka.service", map[string]string{usr + "kafka.service": limit("1")}, "1", usr + "kafka.service"},
		{
			"the administrator's file hides the package's, and other sections do not count", "kafka.service",
			map[string]string{usr + "kafka.service": limit("1"), etc + "kafka.service": "[Service]\nLimitNOFILE = 2\n[Install]\nLimitNOFILE=9\n"},
			"2", etc + "kafka.service",
		},
		{
			"a file beside it wins, the last by its name, whatever the folder", "kafka.service",
			map[string]string{etc + "kafka.service": limit("1"), usr + "kafka.service.d/90-b.conf": limit("3"), etc + "kafka.service.d/10-a.conf": limit("4")},
			"3", usr + "kafka.service.d/90-b.conf",
		},
		{
			"of two of one name that of systemctl set-property", "kafka.service",
			map[string]string{etc + "kafka.service.d/50-x.conf": limit("1"), etc[:len(etc)-1] + ".control/kafka.service.d/50-x.conf": limit("2")},
			"2", "etc/systemd/system.control/kafka.service.d/50-x.conf",
		},
		{
			"of all that begin with a prefix", "kafka-eu-1.service",
			map[string]string{etc + "kafka-eu-1.service": limit("1"), etc + "kafka-.service.d/x.conf": limit("2")},
			"2", etc + "kafka-.service.d/x.conf",
		},
		{
			"its own hides the prefix's of the same name", "kafka-eu-1.service",
			map[string]string{etc + "kafka-eu-.service.d/x.conf": limit("1"), etc + "kafka-.service.d/x.conf": limit("2")},
			"1", etc + "kafka-eu-.service.d/x.conf",
		},
		{
			"its own hides that of all services, though the folder is worth less", "kafka.service",
			map[string]string{usr + "kafka.service.d/x.conf": limit("1"), etc + "service.d/x.conf": limit("2")},
			"1", usr + "kafka.service.d/x.conf",
		},
		{
			"beside an instance", "many@1.service",
			map[string]string{etc + "many@.service": limit("7"), etc + "many@.service.d/a.conf": limit("8"), etc + "many@1.service.d/b.conf": limit("9")},
			"9", etc + "many@1.service.d/b.conf",
		},
		{"taken back", "kafka.service", map[string]string{etc + "kafka.service": limit("5") + "LimitNOFILE=\n"}, "", ""},
		{
			"what systemd gives all services, in a file beside its own", "kafka.service",
			map[string]string{"etc/systemd/system.conf": "[Manager]\nDefaultLimitNOFILE=1\n", "usr/lib/systemd/system.conf.d/x.conf": "[Manager]\nDefaultLimitNOFILE=2\n"},
			"2", "usr/lib/systemd/system.conf.d/x.conf",
		},
	} {
		tree := fstest.MapFS{}
		for name, text := range row.files {
			tree[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if row.file != "" {
			row.file = "/" + row.file
		}
		m := &Machine{FS: host.NewFS(tree)}
		if value, file := m.unitLimit(row.unit); value != row.value || file != row.file {
			t.Errorf("%s: unitLimit(%s) = %q in %q, want %q in %q", row.says, row.unit, value, file, row.value, row.file)
		}
	}
}

func TestLimitsOfUnits(t *testing.T) {
	for _, row := range []struct {
		text string
		want int64
		ok   bool
	}{{"65536", 65536, true}, {"1024:4096", 4096, true}, {"infinity", math.MaxInt64, true}, {"", 0, false}, {"many", 0, false}, {"-1", -1, false}} {
		got, ok := limitOption(row.text)
		must.True(t, got == row.want && ok == row.ok, "limitOption(%q) = %d, %v, want %d, %v", row.text, got, ok, row.want, row.ok)
	}
}
