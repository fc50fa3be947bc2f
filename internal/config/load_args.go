package config

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/plan"
)

// LoadArgs reads a load that follows the flags of another command, as in
// "kt find -- produce --acks all": its command, and its flags in their order.
func LoadArgs(args []string, nearest Nearest) (plan.Command, []Assignment, error) {
	commands := []string{string(plan.Produce), string(plan.Consume), string(plan.Roundtrip)}
	if len(args) == 0 {
		return "", nil, errors.New("no load is given: write it behind --, as in -- produce --acks all")
	}
	command := plan.Command(args[0])
	if !slices.Contains(commands, args[0]) {
		hint := "it must be one of " + strings.Join(commands, ", ")
		if n := nearest(args[0], commands); n != "" {
			hint = "did you mean " + n + "?"
		}
		return "", nil, fmt.Errorf("%q is no load: %s", args[0], hint)
	}
	set := pflag.NewFlagSet(args[0], pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	newFlags(set, command)
	var flags []Assignment
	err := set.ParseAll(args[1:], func(f *pflag.Flag, value string) error {
		flags = append(flags, Assignment{Name: f.Name, Values: []string{value}})
		return nil
	})
	if err == nil && set.NArg() > 0 {
		err = fmt.Errorf("%q is no flag", set.Arg(0))
	}
	if err != nil {
		return "", nil, fmt.Errorf("kt %s: %w (see: kt %s --help-all)", command, err, command)
	}
	return command, flags, nil
}
