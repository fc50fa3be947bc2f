// Package writing is what every way to write has in common: what records hold, how many fill a batch, and the counts of
// requests. So all engines write the same records.
//
//	values, err := writing.MakeValues(&p)
//	generator := values.Generator(p, number, all)
//	var r writing.Record
//	generator.Fill(&r, index)
package writing
