package cmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/theme"
)

func newPeers(env *Env) *cobra.Command {
	return command[*config.Peers]{flags: config.NewPeers, run: listPeers, signals: true}.of(env, &cobra.Command{
		Use:   "peers",
		Short: "List the hosts on which kt agent runs",
	})
}

func listPeers(ctx context.Context, env *Env, s *config.Peers, _ []string) (*finding, error) {
	_, agents, err := env.maker().Agents(ctx, &s.Agents)
	if err != nil {
		return nil, err
	}
	var rows []report.Peer
	silent := 0
	for _, p := range agents {
		row := report.Peer{
			Name: p.Name, Address: p.Addr, Role: p.Role, Version: p.Version, State: p.State, Run: p.Run, Tags: p.Tags, Results: p.Results, Security: p.Security,
		}
		if p.Cores > 0 {
			row.CPUCores, row.Cores = &p.CPU, &p.Cores
		}
		if p.Memory > 0 {
			row.MemoryBytes, row.FreeBytes = &p.Memory, &p.Free
		}
		if p.RTT > 0 {
			off, bound := p.Offset.Microseconds(), p.Bound.Microseconds()
			row.ClockOffsetUS, row.ClockBoundUS = &off, &bound
		}
		if p.Rival != "" {
			row.Problem = fmt.Sprintf("another agent at %s is called %s too: give each a --name of its own, unless one has just been restarted", p.Rival, p.Name)
		}
		if p.Err != nil {
			row.Problem = p.Err.Error()
			silent++
		}
		rows = append(rows, row)
	}
	all := report.NewPeers(rows)
	if silent > 0 {
		err = fmt.Errorf("%d of %s could not be asked: the rows say why; kt agent must run there, be reached by TCP and have the same key (--key-file)", silent, theme.Plural(len(rows), "agent", "agents"))
	}
	return found(report.PeersDoc(all), all), err
}
