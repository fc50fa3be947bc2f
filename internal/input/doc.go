// Package input reads local files that a user names, whatever those names turn out to be.
//
//	data, err := input.Read("client.properties", 1<<20)
//
// It reads a regular file, or a pipe: of a process substitution, of standard input as
// /dev/stdin, or with a name. A pipe to which nobody writes for Patience is an error, and so is more than
// the limit, which is kept while reading. Directories, sockets and devices are refused before they are
// opened; only /dev/null, which is empty, is as good as an empty file.
//
// YAML and Text read YAML so that a value is the text that stands in the file, as a flag is the text that was typed.
//
// Replace writes a file of kt's own so that nobody finds a part of it.
//
// Errors say what is wrong and leave out the name of the file, which the caller knows by its flag.
package input
