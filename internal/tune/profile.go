package tune

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kt-bench/kt/internal/input"
)

// Profile is what is wanted of a machine: rules by the IDs of settings.
type Profile struct {
	Name  string
	rules map[string]Rule
}

// Rule is what a setting's value is to be: the profile's rule for it, else the setting's own.
func (p *Profile) Rule(s *Setting) Rule {
	if r, ok := p.rules[s.ID]; ok {
		return r
	}
	return s.want()
}

// leaves reports whether a profile leaves a setting alone.
func (p *Profile) leaves(id string) bool {
	r, ok := p.rules[id]
	return ok && r.Leave()
}

// profileFile is a profile as YAML.
type profileFile struct {
	Description string               `yaml:"description"`
	Base        string               `yaml:"base"`     // the profile that this one departs from
	Settings    map[string]yaml.Node `yaml:"settings"` // ID: rule; an empty one leaves the value alone
}

// LoadProfile reads a profile: NAME.yaml of those that kt ships or, by a name that ends in .yaml or .yml or holds a slash, a file of
// the user's, which open opens. Every problem is told with its line.
func LoadProfile(name string, shipped fs.FS, open func(string) ([]byte, error)) (*Profile, error) {
	return loadProfile(name, shipped, open, nil)
}

func loadProfile(name string, shipped fs.FS, open func(string) ([]byte, error), seen []string) (*Profile, error) {
	if slices.Contains(seen, name) {
		return nil, fmt.Errorf("profile %s is its own base: %s", name, strings.Join(append(seen, name), " → "))
	}
	text, err := readProfile(name, shipped, open)
	if err != nil {
		return nil, err
	}
	var f profileFile
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	err = d.Decode(&f)
	if more := d.Decode(new(any)); err == nil && !errors.Is(more, io.EOF) {
		err = errors.New("only the part above the first --- would count; write one document")
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("profile %s: %s; kt tune --help shows a profile", name, personal.Replace(err.Error()))
	}
	if f.Base == "" && isFile(name) { // what a file does not name is not left alone by accident
		f.Base = baseProfile
	}
	p := &Profile{Name: name, rules: make(map[string]Rule)}
	if f.Base != "" {
		base, err := loadProfile(f.Base, shipped, open, append(seen, name))
		if err != nil {
			return nil, fmt.Errorf("profile %s: base: %w", name, err)
		}
		p.rules = base.rules
	}
	var problems []error // by their lines
	byLine := func(a, b string) int { return f.Settings[a].Line - f.Settings[b].Line }
	for _, id := range slices.SortedFunc(maps.Keys(f.Settings), byLine) {
		node := f.Settings[id]
		if err := p.takeOne(id, &node); err != nil {
			problems = append(problems, fmt.Errorf("profile %s, line %d: %w", p.Name, node.Line, err))
		}
	}
	return p, errors.Join(problems...)
}

// personal says in a person's words what the library says in Go's.
var personal = strings.NewReplacer("yaml: unmarshal errors:\n  ", "", "yaml: ", "", "cannot unmarshal !!str", "the text", "cannot unmarshal !!seq", "a list",
	"cannot unmarshal !!int", "the number", " into ", " is not ", "mapping key", "the key", "type tune.profileFile", "a profile", "tune.profileFile", "a profile (description, base and settings)",
	"map[string]yaml.Node", "settings, which are lines of ID: rule")

// baseProfile is what a file of the user's departs from if it does not say.
const baseProfile = "throughput"

// isFile tells a file of the user's from the name of a profile that kt ships.
func isFile(name string) bool {
	return strings.ContainsRune(name, '/') || strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

func readProfile(name string, shipped fs.FS, open func(string) ([]byte, error)) (text []byte, err error) {
	if isFile(name) {
		if text, err = open(name); err != nil {
			err = fmt.Errorf("profile: %w", err)
		}
	} else if text, err = fs.ReadFile(shipped, name+".yaml"); err != nil {
		err = fmt.Errorf("there is no profile %s: take one of %s, or a file of your own (./%s.yaml)", name, strings.Join(ProfileNames(shipped), ", "), name)
	}
	return text, err
}

// ProfileNames are the names of the profiles that kt ships.
func ProfileNames(shipped fs.FS) []string {
	files, _ := fs.Glob(shipped, "*.yaml") // the pattern is good
	for i := range files {
		files[i] = strings.TrimSuffix(files[i], ".yaml")
	}
	return files
}

// takeOne sets the rule of a line.
func (p *Profile) takeOne(id string, node *yaml.Node) error {
	all, ids := Catalogue(), IDs()
	i := slices.Index(ids, id)
	if i < 0 {
		return fmt.Errorf("there is no setting %s%s", id, didYouMean(id, ids))
	}
	if node.Kind != yaml.ScalarNode {
		return fmt.Errorf("%s: a rule is one value, such as \">= 100000\"", id)
	}
	text, err := input.Text(node)
	if err != nil {
		return fmt.Errorf("%s: %w", id, err)
	}
	model := p.rules[id] // one that kt ships
	if model.Leave() {
		model = all[i].want()
	}
	r, err := ParseRule(text)
	if err = cmp.Or(err, all[i].Takes.accept(r, model)); err != nil {
		return fmt.Errorf("%s: %w", id, err)
	}
	p.rules[id] = r
	return nil
}

// Names reports whether the profile has a rule of its own for a setting.
func (p *Profile) Names(s *Setting) bool {
	_, ok := p.rules[s.ID]
	return ok
}
