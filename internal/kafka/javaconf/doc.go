// Package javaconf reads the properties of Kafka's Java clients and turns them into
// franz-go's options, so that kt's clients behave as an application's would.
//
//	settings, warnings, err := javaconf.ParseProducer(given, p.Payload.MaxBytes(), false)
//	client, err := cluster.Client(settings.Options()...)
//
// It knows no connection, no cluster and no plan of a load: a table of properties goes in,
// checked settings and options come out.
package javaconf
