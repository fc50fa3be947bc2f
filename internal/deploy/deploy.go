package deploy

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"text/template"
)

// replicas is the number of agents that a text starts. Users change it in the text.
const replicas = 3

// keyPath is the file with the key on a host or in a container of an agent.
const keyPath = "/etc/kt/key"

// defaultPort is that of kt agent.
const defaultPort = 7946

// Agents says how agents are to run.
type Agents struct {
	Name    string   // of the group: their Service, StatefulSet or compose service
	Version string   // of kt
	Port    int      // TCP and UDP
	Join    []string // host:port of agents elsewhere
	Flags   []string // further flags, as --NAME=VALUE
	KeyFile string   // the file with the key on this host
	Key     string   // the text of the key, to be written; empty: the text says how the key gets there
	Owner   string   // UID:GID of the reader of KeyFile, for compose
	Load    *Load    // that the agents make; nil: they make none
}

// Load is a load within the limits of the agents.
type Load struct {
	Rate, Duration string // as --rate and --duration
	Topic          string // "": the user names one that matches Pattern
	Pattern        string // of the topics that the agents allow; "": any
}

var name = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$`)

// CheckName returns an error if a group of agents cannot have that name: it is a part of names in DNS.
func CheckName(s string) error {
	if !name.MatchString(s) {
		return errors.New("a name in DNS has 1 to 40 of a-z, 0-9 and '-', begins with a letter and does not end with '-'")
	}
	return nil
}

// Write writes what starts the agents: "kubernetes", a Service, a StatefulSet, a Job if there is a load and, if there is the key, its
// Secret; "compose", a compose file; "ansible", a play.
func (a Agents) Write(w io.Writer, form string) error { return write(w, form+".yaml", a) }

// Image returns the name of kt's image. A tag cannot have a +.
func (a Agents) Image() string { return "kt:" + strings.ReplaceAll(a.Version, "+", "-") }

// Replicas returns the number of agents.
func (Agents) Replicas() int { return replicas }

// KeyPath returns where an agent has the key.
func (a Agents) KeyPath() string { return keyPath }

// Tmpfs returns the options of the folder for results, which belongs to the owner.
func (a Agents) Tmpfs() string {
	uid, gid, _ := strings.Cut(a.Owner, ":")
	return "mode=0700,uid=" + uid + ",gid=" + gid
}

// Address returns the host:port that stands for all agents of the group.
func (a Agents) Address() string { return a.Name + ":" + strconv.Itoa(a.Port) }

// Args returns the command line of an agent in a container, which joins the others by the name of the group.
func (a Agents) Args() []string { return a.args(append([]string{a.Address()}, a.Join...)) }

// args returns the command line of an agent.
func (a Agents) args(join []string) []string {
	args := []string{"agent", "--key-file=" + keyPath, "--join=" + strings.Join(join, ",")}
	if a.Port != defaultPort {
		args = append(args, "--bind=0.0.0.0:"+strconv.Itoa(a.Port))
	}
	return append(args, a.Flags...)
}

// LoadArgs returns the command line of the load. It needs KT_BOOTSTRAP_SERVER.
func (a Agents) LoadArgs() []string {
	args := []string{"produce", "--key-file=" + keyPath, "--join=" + a.Address(), "--on=clients", "--hosts=" + strconv.Itoa(replicas)}
	if a.Load.Topic != "" {
		args = append(args, "--topic="+a.Load.Topic)
	}
	return append(args, "--partitions=12", "--rate="+a.Load.Rate, "--duration="+a.Load.Duration, "--delete-topic")
}

// Unit returns the systemd unit of an agent on a host.
func (a Agents) Unit() (string, error) {
	b := new(strings.Builder)
	err := Unit{Words: append([]string{"/usr/bin/kt"}, a.args(a.Join)...), Key: keyPath}.Write(b)
	return b.String(), err
}

//go:embed kubernetes.yaml compose.yaml ansible.yaml kt-agent.service
var texts embed.FS

// write fills in a template. Nothing is written if that fails.
func write(w io.Writer, file string, data any) error {
	t, err := template.New(file).Funcs(template.FuncMap{
		"quote": quote, "escaped": quoteEscaped, "indent": indent, "shell": shellWord,
	}).ParseFS(texts, file)
	if err != nil {
		return err
	}
	b := new(bytes.Buffer)
	if err := t.Execute(b, data); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	_, err = w.Write(b.Bytes())
	return err
}

// quote returns a string of YAML, which is one of JSON.
func quote(s string) (string, error) {
	b := new(bytes.Buffer)
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	err := e.Encode(s)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// quoteEscaped quotes a value for Kubernetes and compose, which replace $(NAME), ${NAME} and $$ in it.
func quoteEscaped(s string) (string, error) { return quote(strings.ReplaceAll(s, "$", "$$")) }

// shellWord quotes a word of a command in a comment.
func shellWord(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.NewReplacer("'", `'\''`, "\n", " ", "\r", " ").Replace(s) + "'"
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9/._,:=@+-]+$`)

// indent indents the lines of a text after the first one, unless they are empty.
func indent(n int, s string) string {
	return lineStart.ReplaceAllString(strings.TrimSuffix(s, "\n"), "\n"+strings.Repeat(" ", n)+"$1")
}

var lineStart = regexp.MustCompile(`\n([^\n])`)

// Unit is a systemd unit of an agent.
type Unit struct {
	Words   []string // the command line
	Key     string   // the path of the key file; "": the agent has no key
	Results string   // the path of the folder for results; "": the one in /var/lib
}

// Write writes the unit.
func (u Unit) Write(w io.Writer) error { return write(w, "kt-agent.service", u) }

// ExecStart returns the command line as systemd takes it.
func (u Unit) ExecStart() string {
	line := ""
	for _, word := range u.Words {
		line += " " + quoteUnit(word)
	}
	return strings.TrimPrefix(line, " ")
}

// ReadWritePaths returns the folder for results as systemd takes it: it replaces no variables in paths.
func (u Unit) ReadWritePaths() string { return strings.ReplaceAll(quoteUnit(u.Results), "$$", "$") }

// quoteUnit returns a word as systemd takes it.
func quoteUnit(word string) string {
	word = strings.NewReplacer(`%`, `%%`, `$`, `$$`, `\`, `\\`, `"`, `\"`).Replace(word)
	if strings.ContainsAny(word, " \t'\"\\;") || word == "" {
		return `"` + word + `"`
	}
	return word
}
