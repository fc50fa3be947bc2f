package load

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/cluster"
	"github.com/kt-bench/kt/internal/cluster/port"
	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/tune"
)

const swappiness = "proc/sys/vm/swappiness"

// machine returns the root of a made-up machine.
func machine(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	for path, text := range map[string]string{swappiness: "60\n", hostLock: ""} {
		path = filepath.Join(root, path)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return root
}

func swappinessOf(t *testing.T, root string) string {
	t.Helper()
	text := must.Have(os.ReadFile(filepath.Join(root, swappiness)))(t)
	return strings.TrimSpace(string(text))
}

func quietMaker() *Maker {
	return &Maker{Config: config.System{Kafka: Clients(), Getenv: func(string) string { return "" }}, Say: func(string) {}, Now: time.Now, Version: "1.0"}
}

// served starts an agent of a broker; end waits until it has ended.
func served(t *testing.T, name string, key *port.Key, tuner func(context.Context, *study.HostOrder) error) (addr string, end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	at, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- cluster.Serve(ctx, cluster.AgentOptions{
			Info: cluster.Info{Name: name, Role: cluster.RoleBroker, Version: "1.0"}, Key: key, Bind: "127.0.0.1:0",
			Parallel: 1, Keep: 1, Dir: t.TempDir(), Now: time.Now, Log: func(string) {}, Tune: tuner,
		}, func(addr string) { at <- addr })
	}()
	end = sync.OnceFunc(func() {
		cancel()
		err := <-ended
		must.True(t, err == nil || errors.Is(err, context.Canceled), "%s: %v", name, err)
	})
	select {
	case addr = <-at:
	case err := <-ended:
		t.Fatal(err)
	}
	t.Cleanup(end)
	return addr, end
}

func TestAgentsChangeTheirHostsAndPutThemBack(t *testing.T) {
	key, file := port.NewKey(), filepath.Join(t.TempDir(), "key")
	must.Do(t, os.WriteFile(file, []byte(key.Text()+"\n"), 0o600))
	roots := []string{machine(t), machine(t)}
	first, _ := served(t, "b1", &key, NewHostTuner(quietMaker(), roots[0]).Obey)
	second, end := served(t, "b2", &key, NewHostTuner(quietMaker(), roots[1]).Obey)
	b, l := NewRunner(quietMaker()), study.Load{Command: "produce", Flags: []study.Flag{
		{Name: "on", Value: "brokers"}, {Name: "peers", Value: first + "," + second}, {Name: "key-file", Value: file}, {Name: "topic", Value: "t"}, {Name: "bootstrap-server", Value: "127.0.0.1:1"},
	}}
	hosts, err := b.Hosts(t.Context(), l)
	must.Hold(t, err == nil && strings.Join(hosts, " ") == "b1 b2", "the hosts are %q, %v", hosts, err)
	give := func(do study.HostDo, id, name, value, want string, says ...string) {
		t.Helper()
		own := []study.Flag{{Name: name, Value: value}}
		o := study.HostOrder{Do: do, Study: id, Own: own}
		if do != study.RestoreHost {
			o.Set = own
		}
		err := b.ChangeHosts(t.Context(), l, hosts, o)
		must.Match(t, len(says) > 0, err != nil, "%s of %s to %s=%s: %v", do, id, name, value, err)
		for _, text := range says {
			must.True(t, err == nil || strings.Contains(err.Error(), text), "%s of %s to %s=%s: %v, without %q", do, id, name, value, err, text)
		}
		must.Match(t, want, swappinessOf(t, roots[0])+" "+swappinessOf(t, roots[1]), "after %s of %s to %s=%s the hosts have", do, id, name, value)
	}
	const key1, old, now = "sysctl.vm.swappiness", "60 60", "1 1"
	give(study.CheckHost, "s1", "sysctl.vm.swapiness", "1", old, "b1: ", "b2: ", "did you mean vm.swappiness")
	give(study.CheckHost, "s1", "sysctl.kernel.core_pattern", "|/bin/sh", old, "b1: ", "b2: ")
	give(study.CheckHost, "s1", "sysctl.../../etc/passwd", "1", old, "b1: ", "b2: ")
	give(study.CheckHost, "s1", "tune.vm.swapiness", "", old, "b1: ", "b2: ")
	give(study.SetHost, "s1", key1, "1000", old, "b1: ", "b2: ")
	give(study.RestoreHost, "s1", key1, "1000", old)
	give(study.CheckHost, "s1", key1, strings.Repeat("1", 5000), old, "b1: ", "b2: ")
	give(study.CheckHost, "s1", key1, strings.Repeat("1", 1<<20), old, "b1: ", "b2: ")
	give(study.CheckHost, "s1", key1, "1", old)
	give(study.SetHost, "s1", key1, "1", now)
	give(study.SetHost, "s2", key1, "2", now, "b1: study s1", "b2: study s1", "kt study restore s1")
	give(study.RestoreHost, "s2", key1, "2", now, "b1: study s1")
	end()
	give(study.RestoreHost, "s1", key1, "1", "60 1", "b2: ", "kt tune --rollback")
	give(study.RestoreHost, "s1", key1, "1", "60 1", "b2: ", "kt tune --rollback")
	_, err = tune.NewTree(roots[1], "").Rollback(false)
	must.True(t, err == nil && swappinessOf(t, roots[1]) == "60", "kt tune --rollback on b2: %v, and there is %s", err, swappinessOf(t, roots[1]))
}

// Two kts on one machine have a journal in common, and each would put back what the other one changed.
func TestAMachineHasOneStudyAtATime(t *testing.T) {
	root := machine(t)
	set := []study.Flag{{Name: "sysctl.vm.swappiness", Value: "1"}}
	one, other := NewHostTuner(quietMaker(), root), NewHostTuner(quietMaker(), root)
	must.Do(t, one.Obey(t.Context(), &study.HostOrder{Do: study.SetHost, Study: "s1", Own: set})) // it is tried first without
	for _, do := range []study.HostDo{study.CheckHost, study.SetHost, study.RestoreHost} {
		err := other.Obey(t.Context(), &study.HostOrder{Do: do, Study: "s2", Set: set, Own: set})
		must.True(t, err != nil, "%s: two studies have one machine", do)
	}
	must.Do(t, one.Obey(t.Context(), &study.HostOrder{Do: study.RestoreHost, Study: "s1", Own: set}))
	err := other.Obey(t.Context(), &study.HostOrder{Do: study.SetHost, Study: "s2", Set: set, Own: set})
	must.True(t, err == nil && swappinessOf(t, root) == "1", "after the first study the second gets %v, and there is %s", err, swappinessOf(t, root))
	// What the first one left, as a kt that was killed does, keeps others away.
	other.release()
	must.Err(t, "--rollback", one.Obey(t.Context(), &study.HostOrder{Do: study.CheckHost, Study: "s1", Set: set}), "over what another study left it says")
}

// What is proposed is tried once, unless it is only looked at, and put back at once.
func TestAHostTellsWhatKtTuneWouldChange(t *testing.T) {
	root := machine(t)
	h, long := NewHostTuner(quietMaker(), root), time.Unix(1e9, 0)
	must.Do(t, os.Chtimes(filepath.Join(root, swappiness), long, long))
	for _, do := range []study.HostDo{study.LookAtHost, study.TryHost} {
		o := study.HostOrder{Do: do, Study: "look"}
		must.Do(t, h.Obey(t.Context(), &o))
		states := make(map[study.HostState]int)
		var proposed []string
		for _, f := range o.Found {
			if states[f.State]++; f.State == study.Proposed {
				proposed = append(proposed, f.Group+" "+f.ID)
			}
		}
		must.Match(t, "memory vm.swappiness", strings.Join(proposed, ", "), "%s: proposed", do)
		must.True(t, states[study.NotOfHost] > 50, "%s: %v", do, states)
		must.Match(t, "60", swappinessOf(t, root), "after %s", do)
		must.True(t, len(must.Have(tune.NewTree(root, "").Status())(t)) == 0, "%s: the journal has something", do)
		written := must.Have(os.Stat(filepath.Join(root, swappiness)))(t).ModTime()
		must.Match(t, do == study.TryHost, written.After(long), "%s: it was written", do)
	}
	set := []study.Flag{{Name: "tune.vm.swappiness", Value: "proposed"}, {Name: "tune.vm.dirty_limit", Value: "proposed"}}
	must.Err(t, "tune.vm.dirty_limit: kt tune proposes no change", h.Obey(t.Context(), &study.HostOrder{Do: study.SetHost, Study: "s1", Set: set, Own: set}), "one that is not proposed")
	must.Do(t, h.Obey(t.Context(), &study.HostOrder{Do: study.SetHost, Study: "s1", Set: set[:1], Own: set}))
	must.Match(t, "1", swappinessOf(t, root), "the change")
	must.Do(t, h.Obey(t.Context(), &study.HostOrder{Do: study.RestoreHost, Study: "s1", Own: set}))
	must.Match(t, "60", swappinessOf(t, root), "in the end")
}
