// Package payload makes the keys and values of records, as a plan describes them.
//
//	values, err := payload.MakeValues(&p)
//	…
//	generator := values.Generator(p, number, all)
//	var m payload.Memory
//	key, value := generator.Fill(&m, index)
package payload
