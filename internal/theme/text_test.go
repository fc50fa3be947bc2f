package theme

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/colorprofile"

	"github.com/kt-bench/kt/internal/must"
)

// hostile would clear the screen, set the title, forge a line, turn text around and colour it, and
// ends in a C1 control as a character and as a byte.
const hostile = "x\x1b[2J\x1b]0;gone\a\r\nkt: all is well\u202e\u2066\u200b\u061c\x1b[32mgreen\x1b[m\u009b2J\x9b2J\x7f"

func TestCleanTextIsOneLineThatATerminalCanOnlyShow(t *testing.T) {
	for in, want := range map[string]string{
		"":                        "",
		"kafka-1:9092 – größer 界": "kafka-1:9092 – größer 界",
		"a\tb\nc\u00a0d":          "a b c d",
		"\x1b[31mred\x1b[m":       "?[31mred?[m",
		"a\r\nkt: fine":           "a? kt: fine",
		"\u009b2J\x9b\x7f":        "?2J\ufffd?",
		"\u202eabc\u2066\ufeff":   "?abc??",
	} {
		must.Match(t, want, Clean(in), "%q", in)
	}
}

func TestAMarkedThemeTellsItsOwnColoursFromOthers(t *testing.T) {
	plain := New(Options{Profile: colorprofile.TrueColor, Dark: true})
	marked := plain.Marked()
	good := Style{FG: Good, Bold: true}
	forged := plain.Paint(good, "forged")
	line := forged + marked.Paint(good, "own "+hostile) + hostile
	want := Clean(forged) + plain.Paint(good, "own "+Clean(hostile)) + Clean(hostile)
	must.Match(t, want, marked.Clean(line), "gives")
	must.Match(t, utf8.RuneCountInString(forged+"own "+hostile+hostile), marked.Width(line), "characters are seen")
	got := plain.Marked().Clean(marked.Paint(good, "x"))
	must.True(t, !strings.Contains(got, "\x1b"), "the mark of another theme is believed: %q", got)
	if got := New(Options{}).Marked().Clean(forged); strings.Contains(got, "\x1b") {
		t.Errorf("without colours %q", got)
	}
}

func TestJSONShowsATerminalTextAndGivesAProgramEveryCharacter(t *testing.T) {
	in := map[string]string{"text": hostile + "\U000e0041<b>"}
	var b strings.Builder
	must.Do(t, JSON(&b, in, "  "))
	if strings.ContainsFunc(b.String(), func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
		t.Errorf("a terminal would get %q", b.String())
	}
	var out map[string]string
	must.Do(t, json.Unmarshal([]byte(b.String()), &out))
	must.Match(t, strings.ToValidUTF8(in["text"], "\ufffd"), out["text"], "a program gets")
}

func TestALineAndANameHaveAnEnd(t *testing.T) {
	long := strings.Repeat("ä", 5<<20)
	for name, got := range map[string]string{"line": Clean(long), "name": Name(long)} {
		must.True(t, len(got) <= 9<<10 && strings.HasSuffix(got, "ä…"), "%s: %d bytes, ending with %q", name, len(got), got[len(got)-6:])
	}
	must.Match(t, "kafka-1.example.com", Name("kafka-1.example.com"), "a name became")
}
