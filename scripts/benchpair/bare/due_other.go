//go:build !linux

package main

import "errors"

func due([]string) error { return errors.New("due needs the timers of Linux") }
