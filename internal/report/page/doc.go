// Package page writes HTML pages of results: one file each, without any reference to a network.
//
//	err := page.Run(w, result, report.Options{})
//
// [Several] writes one of several runs, and [Doc] that of any other document.
//
// A page is a document of internal/doc, whose blocks the templates read: its tables, facts and others. Some are of pages alone:
// a [Chart], a [Heat] and [Runs]. Of each chart there is one model, from which both its static picture in SVG and the data of the live chart
// are made. The static pictures are for printers and for browsers without JavaScript.
//
// The content security policy of a page allows nothing but its own blocks, by their hashes. Whatever a run or its
// environment named is data, and html/template escapes it.
package page
