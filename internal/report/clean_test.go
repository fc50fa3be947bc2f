package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/charmbracelet/colorprofile"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// hostile would clear the screen, set the title, forge a line, turn text around and colour it.
const hostile = "x\x1b[2J\x1b]0;gone\a\r\nkt: all is well\u202e\u2066\x1b[32mgreen\x1b[m\u009b2J\x7f"

// poison makes every text within a value hostile, and keeps what it began with, so that names
// stay apart.
func poison(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			poison(v.Elem())
		}
	case reflect.String:
		if v.CanSet() && !strings.HasSuffix(v.Type().PkgPath(), "internal/plan") { // what a format is chosen by
			v.SetString(v.String() + hostile)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			poison(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			poison(v.Index(i))
		}
	case reflect.Map:
		if !v.CanSet() || v.IsNil() || v.Type().Key().Kind() != reflect.String {
			return
		}
		poisoned := reflect.MakeMap(v.Type())
		for _, key := range v.MapKeys() {
			k, e := reflect.New(key.Type()).Elem(), reflect.New(v.Type().Elem()).Elem()
			k.Set(key)
			e.Set(v.MapIndex(key))
			poison(k)
			poison(e)
			poisoned.SetMapIndex(k, e)
		}
		v.Set(poisoned)
	default:
	}
}

// Every text in a run file is its writer's: of the topic, the group, a host, a broker, a header, a
// property, an event, what a command wrote. None of them reaches a terminal as it is, in any
// format, not even as a colour.
func TestNothingInARunFileSteersATerminal(t *testing.T) {
	for _, name := range []string{"fixed", "merged", "beside"} {
		for format, write := range Formats {
			if name == "beside" && slices.Contains(ofOneLoadOnly, format) {
				continue
			}
			for _, profile := range []colorprofile.Profile{colorprofile.NoTTY, colorprofile.TrueColor} {
				r := mergedMixed()
				if name == "fixed" {
					r = results()["fixed"]
				}
				text := must.Have(json.Marshal(r))(t)
				var read result.Result
				must.Do(t, json.Unmarshal(text, &read))
				poison(reflect.ValueOf(&read))
				if name != "beside" {
					read.NotAddedUp = ""
				}
				o := Options{Theme: theme.New(theme.Options{Profile: profile}), RunFile: hostile, Width: 100}
				o.Consumer.Zone = time.UTC
				var b strings.Builder
				must.Do(t, write(&b, read, o))
				harmless(t, name+" as "+format, b.String(), profile)
				if format == "text" && !strings.Contains(b.String(), "?[2J") {
					t.Error("the text does not show what it replaced")
				}
			}
		}
		r := mergedMixed()
		poison(reflect.ValueOf(&r.Header))
		var log strings.Builder
		must.Do(t, WriteHLog(&log, r, func(func(*stats.Window) error) error { return nil }))
		harmless(t, name+" as hlog", log.String(), colorprofile.NoTTY)
		var b strings.Builder
		must.Do(t, Metrics(&b, r))
		harmless(t, "metrics", b.String(), colorprofile.NoTTY)
	}
}

func TestNothingThatAPeerOrADiskSaysSteersATerminal(t *testing.T) {
	for _, profile := range []colorprofile.Profile{colorprofile.NoTTY, colorprofile.TrueColor} {
		th := theme.New(theme.Options{Profile: profile})
		rows, disks, checks := peers(), probed(200), examined()
		for _, v := range []any{rows, disks, checks} {
			poison(reflect.ValueOf(v))
		}
		for _, form := range []string{"text", "csv", "markdown", "json"} {
			o := Options{Theme: th, Width: 100}
			harmless(t, "peers as "+form, wrote(t, form, PeersDoc(rows), rows, o), profile)
			harmless(t, "probe as "+form, wrote(t, form, ProbeDoc(disks, hostile), disks, o), profile)
			harmless(t, "doctor as "+form, wrote(t, form, DoctorDoc(checks), checks, o), profile)
		}
	}
}

// painted are the sequences that the theme writes with all colours: none of 16.
var painted = regexp.MustCompile("\x1b\\[(|1|[34]8;2;[0-9;]*)m")

// harmless checks that a terminal would show text, and do nothing but change to colours of
// kt's own.
func harmless(t *testing.T, what, text string, profile colorprofile.Profile) {
	t.Helper()
	if profile == colorprofile.TrueColor {
		text = painted.ReplaceAllString(text, "")
	}
	bad := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) })
	if bad >= 0 {
		t.Errorf("%s has %q", what, text[max(bad-40, 0):min(bad+20, len(text))])
	}
	if strings.Contains(text, "\nkt: all is well") {
		t.Errorf("%s has a forged line", what)
	}
}

// A row of CSV is one line: a name of two would be two rows to whoever reads lines.
func TestAFieldOfCSVIsOneLine(t *testing.T) {
	var b bytes.Buffer
	one := func(text string) any { return map[string]string{"a": text} }
	must.Do(t, flat(&b, []any{one(hostile)}, func(v any) (json.RawMessage, error) { return json.Marshal(v) }))
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 2 || rows[1][0] != theme.Clean(hostile) {
		t.Errorf("it is read as %q, %v", rows, err)
	}
}
