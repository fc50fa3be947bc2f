// Package config makes one plan of flags, environment, files and profiles.
//
//	flags := config.NewProduce(set) // or NewConsume, or NewRoundtrip
//	args, err := config.ExpandLists(args)
//	set.Parse(args)
//	run, err := flags.Load(config.System{Getenv: os.Getenv, …})
//
// settings.json is the one list of flags: their names, kinds, defaults, helps, commands and Java properties, and whether the file of
// a project may set them. A kind reads a text, so that a wrong one is refused where it is read.
//
// This is the only place where precedence exists: a flag wins over its environment variable (KT_RATE for --rate), that over the
// configuration file, that over the profile, that over the default. Each layer is a viper. Nothing downstream can tell where a
// value came from, except by the sources that --print-config prints.
package config
