package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/kt-bench/kt/internal/cluster/port"
	"github.com/kt-bench/kt/internal/input"
)

func newKeygen(env *Env) *cobra.Command {
	pem := ""
	c := &cobra.Command{
		Use:   "keygen [FILE]",
		Short: "Make a key for agents and the hosts that start loads",
		Long: `Make a random key and write it to a new file that only you can read. A host with this
key can ask every agent with the same key for a load: copy it as you would a private
key. Without FILE, or with -, kt writes the key to standard output.

With --pem kt makes no key: it prints an existing one as a certificate and a private key, for
generic clients of agents, such as curl (see docs/agent-api.md).`,
		Example: `  kt keygen kt.key
  scp kt.key vm14:/etc/kt/key && ssh vm14 kt agent --key-file /etc/kt/key

  # ask an agent by hand
  kt keygen --pem kt.key > kt.pem
  curl --http2-prior-knowledge --cert kt.pem --cacert kt.pem \
      --connect-to kt:7946:vm14:7946 https://kt:7946/v1/state`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError(fmt.Errorf("kt keygen writes one key: %q is a second file; leave it out", args[1]))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if pem != "" {
				return printPEM(env, pem, args)
			}
			text := port.NewKey().Text() + "\n"
			if len(args) == 0 || args[0] == "-" {
				_, err := fmt.Fprint(env.Stdout, text)
				return err
			}
			return writeKey(env, args[0], text)
		},
	}
	c.Flags().StringVar(&pem, "pem", "", "print the key of `KEY-FILE` as a certificate and a private key, and stop")
	return c
}

// printPEM prints an existing key for generic clients.
func printPEM(env *Env, path string, args []string) error {
	if len(args) > 0 {
		return usageError(fmt.Errorf("--pem prints to standard output: leave %q out, and redirect it", args[0]))
	}
	key, err := readKey(path)
	if err != nil {
		return err
	}
	_, err = env.Stdout.Write(key.PEM())
	return err
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
