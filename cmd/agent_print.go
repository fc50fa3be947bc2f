package cmd

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/cluster"
	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/deploy"
	"github.com/kt-bench/kt/internal/load"
	"github.com/kt-bench/kt/internal/secret"
)

// printFlags are the flags of kt agent that print what starts agents, instead of running one.
var printFlags = []struct{ name, usage string }{
	{"print-unit", "print a systemd unit that runs the agent with these flags, and stop"},
	{"print-kubernetes", "print manifests for Kubernetes: agents with these flags, and a Job with a load; and stop"},
	{"print-compose", "print a compose file: agents with these flags, and a load; and stop"},
	{"ansible", "print an Ansible play that installs the package, the key and a unit with these flags, and stop"},
}

// toPrint returns which of printFlags is given, or "".
func toPrint(set *pflag.FlagSet) (string, error) {
	found := ""
	for _, f := range printFlags {
		switch given, err := set.GetBool(f.name); {
		case err != nil:
			return "", err
		case given && found != "":
			return "", fmt.Errorf("--%s and --%s: kt prints one of them: leave out the other", found, f.name)
		case given:
			found = f.name
		}
	}
	return found, nil
}

// printAgent prints what starts agents with these flags: which of printFlags that is.
func printAgent(set *pflag.FlagSet, what string, env *Env, flags *config.Agent) error {
	if what == "print-unit" {
		if err := flags.Load(env.configSystem()); err != nil {
			return usageError(err)
		}
		if flags.AllowTune {
			return usageError(errors.New("--print-unit: its unit runs without root, and --allow-tune needs root; start such an agent by hand, for the time of a trial"))
		}
		return writeUnit(env)
	}
	given, err := asGiven(set, what)
	if err == nil {
		err = flags.Load(env.configSystem())
	}
	if err != nil {
		return usageError(err)
	}
	a, err := given.agents(env, flags)
	if err != nil {
		return usageError(err)
	}
	return a.Write(env.Stdout, strings.TrimPrefix(what, "print-"))
}

// deployed holds the flags of agents that run elsewhere, as they were given on this command line.
type deployed struct {
	what  string // which of printFlags
	key   string // the file with the key, as given
	flags []string
}

// asGiven reads the command line of an agent that is to run elsewhere, with the key file that it will have there.
func asGiven(set *pflag.FlagSet, what string) (deployed, error) {
	d := deployed{what: what}
	elsewhere := []string{"results", "config", "advertise", "allow-tune"} // what no group of hosts has in common
	if what != "ansible" {
		elsewhere = append(elsewhere, "command-config")
	}
	var errs []error
	set.Visit(func(f *pflag.Flag) {
		switch name := f.Name; {
		case name == "key-file":
			d.key = f.Value.String()
		case slices.Contains(elsewhere, name):
			errs = append(errs, fmt.Errorf("--%s: --%s prints nothing for it: leave it out, and add it to what is printed if you need it", name, what))
		case !slices.Contains([]string{"name", "bind", "join", what}, name):
			d.flags = append(d.flags, "--"+name+"="+secret.Scrub(f.Value.String()))
		}
	})
	if err := errors.Join(errs...); err != nil {
		return d, err
	}
	if d.key == "" {
		return d, set.Set("key-file", "kt.key")
	}
	return d, nil
}

// agents returns how agents are to run.
func (d deployed) agents(env *Env, flags *config.Agent) (deploy.Agents, error) {
	a := deploy.Agents{Name: "kt-agent", Version: buildVersion().Version, Join: flags.Join, Flags: d.flags, KeyFile: flags.KeyFile}
	_, port, err := net.SplitHostPort(flags.Bind)
	if err != nil {
		return a, fmt.Errorf("--bind %s: %w", flags.Bind, err)
	}
	if a.Port, err = strconv.Atoi(port); err != nil || a.Port == 0 {
		return a, fmt.Errorf("--bind %s: --%s needs a port that is a number from 1", flags.Bind, d.what)
	}
	if d.what == "ansible" {
		if flags.Name != "" {
			return a, errors.New("--name: --ansible is for many hosts, and each agent has the name of its host: leave it out")
		}
		if len(a.Join) == 0 {
			return a, errors.New("--ansible: name one of the hosts with --join, so that the agents find each other")
		}
		a.KeyFile, err = filepath.Abs(a.KeyFile)
		return a, err
	}
	a.Load = allowedLoad(flags, a.Replicas())
	if flags.Name != "" {
		a.Name = flags.Name
	}
	if err := deploy.CheckName(a.Name); err != nil {
		return a, fmt.Errorf("--name %q: with --%s it is the name of all agents together, and %w", a.Name, d.what, err)
	}
	if d.what == "print-compose" {
		a.Owner = fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid())
		a.KeyFile, err = filepath.Abs(a.KeyFile)
		return a, err
	}
	if d.key == "" {
		return a, nil
	}
	key, err := load.ReadKey(d.key)
	if err != nil {
		return a, err
	}
	a.Key = key.Text()
	env.say("the output holds the key of %s: keep it as you keep a private key; without --key-file it says how the Secret is made", d.key)
	return a, nil
}

// allowedLoad returns a load that so many agents with these flags accept, or nil if they make none.
func allowedLoad(flags *config.Agent, agents int) *deploy.Load {
	if flags.Role == cluster.RoleBroker {
		return nil
	}
	l := &deploy.Load{Rate: "10000", Duration: "1m", Topic: "kt-load"}
	enough := 10_000.0 // records/s
	if flags.MaxRate.Bytes {
		enough = 5 << 20 // of kt's records of 512 B
	}
	most := flags.MaxRate
	most.PerSecond *= float64(agents) // each makes its share
	if !most.IsUnlimited() && most.PerSecond < enough {
		l.Rate = most.String()
	}
	if d := flags.MaxDuration; d > 0 && d < time.Minute {
		l.Duration = d.String()
	}
	if allowed := flags.AllowTopic; allowed != nil {
		l.Pattern = allowed.String()
		if (&cluster.Limits{Topic: allowed}).AllowsTopic(l.Topic) != nil {
			l.Topic = ""
		}
	}
	return l
}

// writeUnit prints the unit with the flags of this command line.
func writeUnit(env *Env) error {
	path, err := os.Executable()
	if err != nil {
		return err
	}
	words := []string{path}
	for i, arg := range env.Args {
		if arg == "--print-unit" || arg == "--print-unit=true" {
			continue
		}
		if arg, err = fromRoot(env.Args[:i], arg); err != nil {
			return err
		}
		words = append(words, secret.Scrub(arg))
	}
	return deploy.Unit{Words: words, Key: valueOf(words, "--key-file"), Results: valueOf(words, "--results")}.Write(env.Stdout)
}

// valueOf returns the value of a flag on a command line, or "".
func valueOf(words []string, flag string) (value string) {
	for i, word := range words {
		if after, ok := strings.CutPrefix(word, flag+"="); ok {
			value = after
		} else if i > 0 && words[i-1] == flag {
			value = word
		}
	}
	return value
}

// fromRoot makes the path of a flag one that means the same to a service, which starts in
// the root folder. before are the words before it.
func fromRoot(before []string, arg string) (string, error) {
	for _, flag := range []string{"--key-file", "--results", "--config", "--command-config"} {
		if path, ok := strings.CutPrefix(arg, flag+"="); ok {
			path, err := filepath.Abs(path)
			return flag + "=" + path, err
		}
		if len(before) > 0 && before[len(before)-1] == flag {
			return filepath.Abs(arg)
		}
	}
	return arg, nil
}
