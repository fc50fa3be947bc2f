// Package config makes one plan of flags, environment, files and profiles.
//
//	flags := config.NewProduce(set)
//	args, err := config.ExpandLists(args)
//	set.Parse(args)
//	produce, err := flags.Load(config.System{Getenv: os.Getenv, …}, nearest)
//
// It is the only place where precedence exists: a flag wins over its environment
// variable (KT_RATE for --rate), that over the configuration file, that over the
// profile, that over the default. Nothing downstream can tell where a value came
// from, except by the sources that --print-config prints.
package config
