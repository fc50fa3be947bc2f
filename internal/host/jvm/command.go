package jvm

import (
	"errors"
	"slices"
	"strings"
)

// Complete returns the command line by which a JVM acts: args, which is that of its process, with the options of its environment
// and of the files that either names. They stand in the order in which the JVM takes them: the last one counts. read reads a file
// as the process sees it. The error joins those of read: options are missing then.
func Complete(args, environ []string, read func(name string) (string, error)) ([]string, error) {
	var problems []error
	l := launch{file: func(name string, comments bool) []string {
		text, err := read(name)
		problems = append(problems, err)
		return words(text, comments)
	}}
	variable := func(name string) (all []string) {
		for _, v := range environ {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				all = words(value, false)
			}
		}
		return all
	}
	for _, word := range slices.Concat(variable("JDK_JAVA_OPTIONS"), args[1:]) {
		l.add(word)
	}
	var flags, options []string
	for _, o := range slices.Concat(variable("JAVA_TOOL_OPTIONS"), l.options, variable("_JAVA_OPTIONS")) {
		if name, ok := strings.CutPrefix(o, "-XX:VMOptionsFile="); ok {
			options = append(options, l.file(name, false)...)
		} else if name, ok := strings.CutPrefix(o, "-XX:Flags="); ok { // only the last one is read, before all else
			flags = l.file(name, true)
		} else {
			options = append(options, o)
		}
	}
	for i := range flags {
		flags[i] = "-XX:" + flags[i]
	}
	return slices.Concat(args[:1], flags, options, l.program), errors.Join(problems...)
}

// launch is a command line as the java launcher takes it apart.
type launch struct {
	options, program []string // program: the main class, or the option that names it, and what follows
	file             func(name string, comments bool) []string

	value   bool // the next word is the value of an option
	literal bool // a word that begins with @ names no file
	started bool // the program is known
}

func (l *launch) add(word string) {
	if len(word) > 1 && word[0] == '@' && !l.started && !l.literal {
		if word = word[1:]; word[0] != '@' {
			l.literal = true // a file cannot name another one
			for _, w := range l.file(word, true) {
				l.add(w)
			}
			l.literal = slices.Contains(l.options, noFiles)
			return
		}
	}
	switch isOption := strings.HasPrefix(word, "-"); {
	case l.started:
		l.program = append(l.program, word)
	case l.program != nil, !isOption && !l.value, strings.HasPrefix(word, "--module="):
		l.program, l.started = append(l.program, word), true
	case slices.Contains(programOptions, word):
		l.program = []string{word}
	default:
		l.literal = l.literal || word == noFiles
		l.value = isOption && slices.Contains(withArgument, word)
		l.options = append(l.options, word)
	}
}

const noFiles = "--disable-@files"

// words splits the text of a variable into words, or that of a file with comments. There a line ends a quotation, and a
// backslash in it escapes a character, or joins lines.
func words(text string, comments bool) (all []string) {
	const space = " \t\n\v\f\r"
	var word []byte // nil: none has begun
	var quote byte
	for text += "\n"; text != ""; text = text[1:] {
		switch c := text[0]; {
		case quote == 0 && strings.IndexByte(space, c) >= 0, comments && (c == '\n' || c == '\r'), len(text) == 1:
			if word != nil {
				all = append(all, string(word))
			}
			word, quote = nil, 0
		case comments && quote != 0 && c == '\\':
			if text = text[1:]; text[0] == '\n' || text[0] == '\r' {
				text = " " + strings.TrimLeft(text, space)
			} else if n := strings.IndexByte("nrtf", text[0]); n >= 0 {
				word = append(word, "\n\r\t\f"[n])
			} else {
				word = append(word, text[0])
			}
		case quote == 0 && (c == '"' || c == '\''):
			quote, word = c, append([]byte{}, word...)
		case quote == c:
			quote = 0
		case comments && quote == 0 && c == '#': // in a word it costs the word, as in java
			word, text = nil, text[strings.IndexByte(text, '\n')-1:]
		default:
			word = append(word, c)
		}
	}
	return all
}
