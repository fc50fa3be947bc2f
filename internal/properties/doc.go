// Package properties reads the properties files of Java, as Java does.
//
//	list, err := properties.Parse(data)
package properties
