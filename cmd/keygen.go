package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/cluster/port"
	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/load"
)

func newKeygen(env *Env) *cobra.Command {
	var pem bool
	return command[none]{
		flags: func(set *pflag.FlagSet) none {
			set.BoolVar(&pem, "pem", false, "write the certificate and private key of the key in FILE, for openssl and curl")
			return none{}
		},
		run: func(_ context.Context, env *Env, _ none, args []string) (*finding, error) {
			if pem {
				key, err := load.OpenKey(args[0])
				if err != nil {
					return nil, usageError(fmt.Errorf("--pem: %s: %w", args[0], err))
				}
				return text(string(key.PEM())), nil
			}
			key := port.NewKey().Text() + "\n"
			if len(args) == 0 || args[0] == "-" {
				return text(key), nil
			}
			return nil, writeKey(env, args[0], key)
		},
	}.of(env, &cobra.Command{
		Use:   "keygen [FILE]",
		Short: "Make a key for agents and the hosts that start loads",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError(fmt.Errorf("kt keygen writes one key: %q is a second file; leave it out", args[1]))
			}
			if pem && len(args) == 0 {
				return usageError(errors.New("--pem: name the file with the key, as in kt keygen --pem kt.key"))
			}
			return nil
		},
	})
}

// writeKey never overwrites a key: agents that have the old one would be lost.
func writeKey(env *Env, path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return usageError(fmt.Errorf("%s: it exists, and kt does not overwrite keys: name another file or remove it", path))
	}
	if err != nil {
		return usageError(fmt.Errorf("%s: %w", path, input.Cause(err)))
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", path, input.Cause(err)), os.Remove(path))
	}
	env.say("wrote a new key to %s; copy it to every host with kt agent, and to the hosts from which you start loads (--key-file)", path)
	return nil
}
