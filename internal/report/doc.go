// Package report writes a result for people or for programs.
//
//	format, ok := report.Formats["json"]
//	err := format(os.Stdout, doc, report.Options{})
//
// Every number that people read is written by the theme package, so that it looks
// the same on the screen and in a report. The programs' formats have units in the
// names of their fields and plain numbers as values.
package report
