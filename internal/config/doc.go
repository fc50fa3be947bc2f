// Package config makes one plan of flags, environment, files and profiles.
//
//	flags := config.NewProduce(set) // or NewConsume, or NewRoundtrip
//	args, err := config.ExpandLists(args)
//	set.Parse(args)
//	run, err := flags.Load(config.System{Getenv: os.Getenv, …}, kafka)
//
// It is the only place where precedence exists: a flag wins over its environment
// variable (KT_RATE for --rate), that over the configuration file, that over the
// profile, that over the default. Nothing downstream can tell where a value came
// from, except by the sources that --print-config prints.
//
// A flag means the same in every command that makes a load. Each of the other commands
// has a type with flags of its own, beside those that command.go has for all of them.
package config
