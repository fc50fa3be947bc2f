// Package internal_test holds the code to ARCHITECTURE.md: its table of packages
// is read here and compared with what the files import.
package internal_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

const module = "github.com/kt-bench/kt"

// layers are the values of the table's column, lowest first. A package imports only what
// lies lower, or what lies inside the same folder of internal: so adapters never import
// each other.
var layers = []string{"ground", "base", "core", "run", "adapter", "assembly", "command"}

// row is one package in the table of ARCHITECTURE.md.
type row struct {
	layer    string
	internal []string // packages of kt that it may import; "*": any
	outside  []string // third-party modules that it imports, by the end of their path
}

// file is one Go file of the tree, whatever system it is for: so the macOS part
// of a package is held to the table on Linux too, and a package that does not
// build yet can be looked at all the same. `go list` would see neither.
type file struct {
	name    string // from the root of the checkout
	pkg     string // its folder, as the table names it
	test    bool
	syntax  *ast.File
	imports map[string]string // local name to path
	at      *token.FileSet
}

func TestEveryPackageIsInTheTable(t *testing.T) {
	table, files := readTable(t), readFiles(t)
	there := make(map[string]bool)
	for _, f := range files {
		if !f.test {
			there[f.pkg] = true
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(there)) {
		_, ok := table[pkg]
		must.True(t, ok, "package %s is not in the table of ARCHITECTURE.md: add a row", pkg)
	}
	for _, pkg := range slices.Sorted(maps.Keys(table)) {
		must.True(t, there[pkg], "the table of ARCHITECTURE.md names %s, which is not there", pkg)
	}
}

func TestPackagesImportOnlyWhatTheTableAllows(t *testing.T) {
	table := readTable(t)
	for _, f := range readFiles(t) {
		r, ok := table[f.pkg]
		if !ok || f.test {
			continue
		}
		for _, p := range f.imports {
			if target, ok := strings.CutPrefix(p, module+"/"); ok {
				must.True(t, allows(r.internal, target), "%s imports %s: the table allows %s only %v", f.name, target, f.pkg, r.internal)
				continue
			}
			if thirdParty(p) && !slices.ContainsFunc(r.outside, func(m string) bool { return within(p, m) }) {
				t.Errorf("%s imports %s: the table gives %s only %v", f.name, p, f.pkg, r.outside)
			}
		}
	}
}

func TestTheTableNamesNoModuleThatIsNotImported(t *testing.T) {
	imported := make(map[string][]string)
	for _, f := range readFiles(t) {
		if !f.test {
			imported[f.pkg] = slices.AppendSeq(imported[f.pkg], maps.Values(f.imports))
		}
	}
	for pkg, r := range readTable(t) {
		for _, m := range r.outside {
			if !slices.ContainsFunc(imported[pkg], func(p string) bool { return within(p, m) }) {
				t.Errorf("the table says that %s imports %s; it does not", pkg, m)
			}
		}
	}
}

func TestImportsPointDownTheLayers(t *testing.T) {
	table := readTable(t)
	for pkg, r := range table {
		for _, target := range r.internal {
			if target == "*" || room(target) == room(pkg) {
				continue
			}
			lower, ok := table[target]
			switch {
			case !ok:
				t.Errorf("the table allows %s to import %s, which has no row", pkg, target)
			case slices.Index(layers, lower.layer) >= slices.Index(layers, r.layer):
				t.Errorf("the table allows %s (%s) to import %s (%s): it must lie lower", pkg, r.layer, target, lower.layer)
			}
		}
	}
}

// A second engine, and a second kind of system, must find nothing of Kafka's client below
// their own layer.
func TestOnlyAdaptersKnowTheKafkaClient(t *testing.T) {
	table := readTable(t)
	for _, f := range readFiles(t) {
		layer := slices.Index(layers, table[f.pkg].layer)
		if f.test || layer < 0 || layer >= slices.Index(layers, "adapter") {
			continue
		}
		for _, p := range f.imports {
			must.True(t, !strings.HasPrefix(p, "github.com/twmb/") && room(strings.TrimPrefix(p, module+"/")) != "kafka",
				"%s imports %s: %s lies below the adapters", f.name, p, f.pkg)
		}
	}
}

// room is the folder of internal that a package lies in.
func room(pkg string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(pkg, "internal/"), "/")
	return first
}

// The process belongs to main and cmd: they alone read its arguments and environment, write
// to its streams, handle its signals, set its garbage collector and end it. So several runs
// can share one process, and any other package can be tested without one.
func TestOnlyMainAndCmdTouchTheProcess(t *testing.T) {
	forbidden := map[string][]string{
		"os":            {"Args", "Exit", "Stdin", "Stdout", "Stderr", "Getenv", "LookupEnv", "Environ", "Setenv", "Unsetenv", "Clearenv", "ExpandEnv", "Chdir"},
		"os/signal":     {"Notify", "NotifyContext", "Ignore", "Reset", "Stop"},
		"runtime/debug": {"SetGCPercent", "SetMemoryLimit", "SetMaxStack", "SetMaxThreads", "SetPanicOnFault", "SetTraceback", "SetCrashOutput"},
		"fmt":           {"Print", "Printf", "Println"},
		"log":           {"Fatal", "Fatalf", "Fatalln", "Panic", "Panicf", "Panicln"},
	}
	for _, f := range readFiles(t) {
		if f.test || f.pkg == "main.go" || f.pkg == "cmd" {
			continue
		}
		f.uses(func(p, name string, at token.Position) {
			must.True(t, !slices.Contains(forbidden[p], name), "%s:%d: %s.%s belongs to main and cmd", f.name, at.Line, p, name)
		})
	}
}

// Whatever connects to a cluster has to use its security settings, so one place makes all clients.
func TestOnePlaceMakesAllKafkaClients(t *testing.T) {
	var places []string
	for _, f := range readFiles(t) {
		if f.test {
			continue
		}
		f.uses(func(p, name string, _ token.Position) {
			if within(p, "pkg/kgo") && name == "NewClient" {
				places = append(places, f.name)
			}
		})
	}
	must.Match(t, []string{"internal/kafka/cluster.go"}, places, "files that make clients: take them from a kafka.Cluster")
}

// A unit test that sleeps is slow and fails on a busy machine. In a package whose
// tests import testing/synctest the clock is not real, and sleeping moves it.
func TestUnitTestsDoNotSleep(t *testing.T) {
	files := readFiles(t)
	virtual := make(map[string]bool)
	for _, f := range files {
		if f.test && slices.Contains(slices.Collect(maps.Values(f.imports)), "testing/synctest") {
			virtual[path.Dir(f.name)] = true
		}
	}
	for _, f := range files {
		if !f.test || f.needsKafka() || virtual[path.Dir(f.name)] {
			continue
		}
		f.uses(func(p, name string, at token.Position) {
			must.True(t, p != "time" || name != "Sleep", "%s:%d: sleeps: use testing/synctest, or wait for what happens", f.name, at.Line)
		})
	}
}

// Bubble Tea and Lip Gloss have moved to charm.land with version 2. Version 1
// beside it would draw with another idea of the terminal.
func TestNobodyImportsTheOldCharmPackages(t *testing.T) {
	for _, f := range readFiles(t) {
		for _, p := range f.imports {
			for _, old := range []string{"bubbletea", "lipgloss", "bubbles"} {
				must.True(t, !strings.HasPrefix(p+"/", "github.com/charmbracelet/"+old+"/"), "%s imports %s: use charm.land/%s/v2", f.name, p, old)
			}
		}
	}
}

func TestModulesAreMatchedByWholePathElements(t *testing.T) {
	for _, r := range []struct {
		imported, module string
		want             bool
	}{
		{"github.com/spf13/viper", "viper", true},
		{"github.com/charmbracelet/x/ansi", "x/ansi", true},
		{"github.com/twmb/franz-go/pkg/kgo", "franz-go", true},
		{"charm.land/bubbletea/v2", "bubbletea", true},
		{"github.com/klauspost/compress/zstd", "klauspost/compress", true},
		{"github.com/spf13/viperx", "viper", false},
		{"github.com/charmbracelet/x/term", "x/ansi", false},
	} {
		must.Match(t, r.want, within(r.imported, r.module), "within(%q, %q)", r.imported, r.module)
	}
}

// readTable reads the rows between the two marks in ARCHITECTURE.md.
func readTable(t *testing.T) map[string]row {
	t.Helper()
	text := must.Have(os.ReadFile("../ARCHITECTURE.md"))(t)
	table := make(map[string]row)
	inside := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "<!-- packages"):
			inside = true
		case strings.HasPrefix(line, "<!-- /packages"):
			inside = false
		case inside && strings.HasPrefix(line, "| `"):
			pkg, r, err := parseRow(line)
			must.Hold(t, err == nil, "ARCHITECTURE.md: %v", err)
			_, twice := table[pkg]
			must.True(t, !twice, "ARCHITECTURE.md: two rows for %s", pkg)
			table[pkg] = r
		}
	}
	must.Hold(t, len(table) != 0, "ARCHITECTURE.md: no table between <!-- packages --> and <!-- /packages -->")
	return table
}

// parseRow reads | `package` | layer | sentence | imports | third party |.
func parseRow(line string) (string, row, error) {
	cells := strings.Split(strings.Trim(line, "| "), "|")
	if len(cells) != 5 {
		return "", row{}, fmt.Errorf("a row of %d cells, want 5: %s", len(cells), line)
	}
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	r := row{layer: cells[1], outside: list(cells[4])}
	for _, name := range list(cells[3]) {
		r.internal = append(r.internal, folder(name))
	}
	if !slices.Contains(layers, r.layer) {
		return "", row{}, fmt.Errorf("layer %q is none of %v", r.layer, layers)
	}
	return folder(strings.Trim(cells[0], "`")), r, nil
}

// folder is where a package is, which the table names without "internal/".
func folder(name string) string {
	switch name {
	case "main.go", "cmd", "profiles", "*":
		return name
	}
	return "internal/" + name
}

func list(cell string) []string {
	if cell == "–" {
		return nil
	}
	var out []string
	for part := range strings.SplitSeq(cell, ",") {
		out = append(out, strings.Trim(strings.TrimSpace(part), "`"))
	}
	return out
}

// readFiles parses every Go file of the module.
func readFiles(t *testing.T) []file {
	t.Helper()
	var files []file
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != ".." && skip(name, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}
		f, err := parse(name)
		files = append(files, f)
		return err
	})
	must.Hold(t, err == nil, "%v", err)
	return files
}

// skip leaves out what `go list ./...` leaves out, modules of their own, and the
// developers' programs in scripts, which are no part of kt.
func skip(name, base string) bool {
	if name == filepath.Join("..", "scripts") || base == "testdata" || base == "vendor" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return true
	}
	_, err := os.Stat(filepath.Join(name, "go.mod"))
	return err == nil
}

func parse(name string) (file, error) {
	f := file{at: token.NewFileSet(), test: strings.HasSuffix(name, "_test.go"), imports: make(map[string]string)}
	var err error
	if f.syntax, err = parser.ParseFile(f.at, name, nil, parser.SkipObjectResolution|parser.ParseComments); err != nil {
		return f, err
	}
	f.name = strings.TrimPrefix(filepath.ToSlash(name), "../")
	if f.pkg = path.Dir(f.name); f.pkg == "." {
		f.pkg = "main.go"
	}
	for _, spec := range f.syntax.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return f, err
		}
		local := path.Base(p)
		switch {
		case spec.Name == nil:
		case spec.Name.Name == "_":
			local = p // has no name; keep it apart from the others
		default:
			local = spec.Name.Name
		}
		if _, taken := f.imports[local]; taken {
			local = p // two modules end in /v2
		}
		f.imports[local] = p
	}
	return f, nil
}

// uses calls found for every name that the file takes from a package.
func (f *file) uses(found func(pkg, name string, at token.Position)) {
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && f.imports[x.Name] != "" {
				found(f.imports[x.Name], s.Sel.Name, f.at.Position(s.Pos()))
			}
		}
		return true
	})
}

// needsKafka reports whether the file is built for the integration tests only.
func (f *file) needsKafka() bool {
	for _, group := range f.syntax.Comments {
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, "//go:build") && strings.Contains(c.Text, "integration") {
				return true
			}
		}
	}
	return false
}

func allows(allowed []string, target string) bool {
	return slices.Contains(allowed, "*") || slices.Contains(allowed, target)
}

// thirdParty tells a module's path from the standard library's: its first element
// is a host.
func thirdParty(p string) bool {
	first, _, _ := strings.Cut(p, "/")
	return strings.Contains(first, ".")
}

// within reports whether the imported package belongs to the module, which is
// named by one or more whole elements of its path.
func within(imported, module string) bool {
	return strings.Contains("/"+imported+"/", "/"+module+"/")
}
