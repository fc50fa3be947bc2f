// Package reading is what every way to read from Kafka has in common: the offsets at which reading
// begins and ends, the positions between them, the records that were read for verification, and
// their second reading where a log was truncated. A driver embeds State and adds its fetches.
package reading
