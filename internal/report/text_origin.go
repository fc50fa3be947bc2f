package report

import (
	"strings"
	"unicode/utf8"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// origin writes when and where a run was made, for how long, with which kt and which command line. Without
// o.Full the command line is cut to one line.
func (t *text) origin(r result.Result, o Options) {
	if r.StartedAt.IsZero() {
		return
	}
	version := r.KTVersion
	if !o.Full {
		version, _, _ = strings.Cut(version, " ")
	}
	about := r.StartedAt.UTC().Format("2006-01-02 15:04:05 MST") + ", " + theme.Duration(seconds(r.ElapsedSeconds))
	if h := r.Environment.Host.Hostname; h != "" && !merged(r) {
		about += ", on " + h
	}
	for _, line := range wrapText(about+", kt "+version, t.wrapAt()-2) {
		t.line("  " + t.th.Paint(muted, line))
	}
	var args []string
	for _, arg := range r.Args {
		args = append(args, theme.Quoted(arg))
	}
	command := strings.Join(args, " ")
	switch {
	case command == "":
	case t.width == 0:
		t.line("  " + t.th.Paint(muted, command))
	case !o.Full:
		t.line("  " + t.th.Paint(muted, t.cut(command, 2)))
	default:
		t.pasted(args)
	}
}

// pasted writes a command line on as many lines as the terminal needs, in a form that a shell takes.
func (t *text) pasted(args []string) {
	line := " "
	for i, arg := range args {
		if i > 0 && utf8.RuneCountInString(line+" "+arg) > t.limit()-len(` \`) {
			t.line(t.th.Paint(muted, line+` \`))
			line = "   "
		}
		line += " " + arg
	}
	t.line(t.th.Paint(muted, line))
}
