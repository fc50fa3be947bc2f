// Package system makes loads on Kafka possible for package run: it is run.System made of
// the drivers, the watchers and the embedded broker of package kafka. It knows no screen,
// no stream and no other host.
package system
