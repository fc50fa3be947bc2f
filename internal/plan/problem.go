package plan

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Problem is what is wrong with the value of a flag, wherever that value stands.
type Problem struct {
	Flag   string // without dashes; "": of several, or of none
	Value  string // as it is shown; "": there is nothing to show
	Source string // FILE, a variable, a profile or a cluster; "": the command line
	Line   int    // of the file; 0: it has none
	Why    string // of no Flag the whole sentence

	sentence bool // Why names the flag
	err      error
}

// About returns the problem of a value in a sentence that names its flag.
func About(flag string, err error) *Problem {
	return &Problem{Flag: flag, Why: err.Error(), sentence: true, err: err}
}

// Refuse returns the problem of a value. Text that is no number is shown in quotes, and nil not at all.
func Refuse(flag string, value any, why string, args ...any) *Problem {
	err := fmt.Errorf(why, args...)
	p := &Problem{Flag: flag, Why: err.Error(), err: err}
	if value != nil {
		p.Value = fmt.Sprint(value)
		if _, err := ParseNumber(p.Value); err != nil && reflect.TypeOf(value).Kind() == reflect.String {
			p.Value = strconv.Quote(p.Value)
		}
	}
	return p
}

// At returns the problem of a Java property, which what names.
func At(source, what, why string, args ...any) *Problem {
	err := fmt.Errorf(why, args...)
	return (&Problem{Value: what, Why: err.Error(), sentence: true, err: err}).From(source)
}

// From returns the problem with the source of the value: FILE:LINE, or what else names it.
func (p Problem) From(source string) *Problem {
	p.Source, p.Line = source, 0
	if at := strings.LastIndexByte(source, ':'); at > 0 {
		if line, err := strconv.Atoi(source[at+1:]); err == nil {
			p.Source, p.Line = source[:at], line
		}
	}
	return &p
}

// Of returns the problem with its place at the beginning, as one of a command; "": of none.
func (p Problem) Of(command string) *Problem {
	p.Why, p.Flag, p.Value, p.sentence = p.Text(), "", "", false
	if command != "" {
		p.Why = command + ": " + p.Why
	}
	return &p
}

// Place returns where the value stands; "": on the command line.
func (p *Problem) Place() string {
	if p.Line > 0 {
		return p.Source + ":" + strconv.Itoa(p.Line)
	}
	return p.Source
}

// Error names the place, the flag and the value.
func (p *Problem) Error() string {
	place := p.Place()
	if p.Flag == "" && p.sentence && place != "" {
		return p.Value + " (from " + place + "): " + p.Why
	}
	if place != "" {
		return place + ": " + p.Text()
	}
	if p.Flag != "" && !p.sentence {
		return "--" + p.Text()
	}
	return p.Text()
}

// Text returns the problem without its place.
func (p *Problem) Text() string {
	switch {
	case p.Flag == "" && p.Value != "":
		return p.Value + ": " + p.Why
	case p.Flag != "" && p.sentence && p.Source != "": // a file and a variable have no dashes
		return strings.TrimPrefix(p.Why, "--")
	case p.Flag == "", p.sentence:
		return p.Why
	case p.Value == "":
		return p.Flag + ": " + p.Why
	}
	return p.Flag + " " + p.Value + ": " + p.Why
}

// Unwrap returns the reason.
func (p *Problem) Unwrap() error { return p.err }
