// Package keystore reads the certificates and keys of TLS from the files that Kafka's Java
// clients use: PEM, JKS and PKCS12.
//
//	authorities, err := keystore.Trust(data, password)
//	identity, err := keystore.Identity(data, storePassword, keyPassword)
//
// The format is recognised by the content, as Java does it, because a file named .jks is often
// PKCS12. The functions work on bytes: they open no file, and check no name and no date.
package keystore
