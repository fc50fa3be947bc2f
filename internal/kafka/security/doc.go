// Package security connects to brokers with TLS and SASL, as the properties of Kafka's Java
// clients ask for.
//
//	settings, warnings, err := security.Parse(given, named, os.Getenv)
//	client, err := kgo.NewClient(append(settings.Options(), kgo.Dialer(settings.Dial(dial)))...)
//
// It is the only package that knows what a mechanism is. Settings hold secrets, so they stay in the
// process that connects: no plan, no run file and no message to an agent has them. Stores of
// certificates are read again for a new connection when their files have changed.
package security
