// Package writing is what every way to write to Kafka has in common: outcomes, how many records fill a batch, the headers of
// records, and the counts of requests.
package writing
