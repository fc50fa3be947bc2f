// Package pulsar carries a load on Pulsar.
package pulsar
