// Package config makes one plan of flags, environment, files and profiles.
//
//	p := config.NewProduce(flagSet)
//	flagSet.Parse(config.ExpandLists(args))
//	loaded, err := p.Load(config.System{Getenv: os.Getenv, …})
//
// It is the only place where precedence exists: a flag wins over its environment
// variable (KT_RATE for --rate), that over the configuration file, that over the
// profile, that over the default. Nothing downstream can tell where a value came
// from, except by the sources that Explain prints.
package config
