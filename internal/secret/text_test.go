package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"text/template"

	"go.yaml.in/yaml/v3"

	"github.com/kt-bench/kt/internal/must"
)

const password = "hunter2 \"\x00é"

// holder has a secret wherever a struct can have one.
type holder struct {
	Name     string
	Exported Text
	private  Text
	Pointer  *Text
	List     []Text
	ByName   map[string]Text
	Any      any
	Nested   struct{ inner Text }
	fails    error
}

func newHolder() *holder {
	t := New(password)
	h := &holder{Name: "kt", Exported: t, private: t, Pointer: &t, List: []Text{t}, ByName: map[string]Text{"a": t}, Any: t}
	h.Nested.inner = t
	h.fails = fmt.Errorf("log in with %v", t)
	return h
}

// leaks reports whether a text has the password in it, as it is or encoded.
func leaks(text string) bool {
	quoted := fmt.Sprintf("%q", password)
	asJSON, _ := json.Marshal(password)
	low, high := hex.EncodeToString([]byte(password)), fmt.Sprintf("%X", password)
	for _, form := range []string{
		password, "hunter2", quoted[1 : len(quoted)-1], string(asJSON[1 : len(asJSON)-1]), low, high, fmt.Sprintf("% x", password),
		base64.StdEncoding.EncodeToString([]byte(password)), fmt.Sprintf("%d", []byte(password)), fmt.Sprintf("%#v", []byte(password)),
	} {
		if strings.Contains(text, form) {
			return true
		}
	}
	return false
}

func TestOnlyRevealShowsASecret(t *testing.T) {
	must.Match(t, password, New(password).Reveal(), "Reveal")
	must.Match(t, "", (Text{}).Reveal(), "of the zero value")
	text := New(password)
	must.True(t, fmt.Sprint(text) == hidden && text.String() == hidden, "prints as %v", text)
	must.True(t, leaks("user hunter2") && !leaks(hidden), "leaks does not tell them apart")
}

func TestNoVerbOfFmtShowsASecret(t *testing.T) {
	h := newHolder()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%#q", "%d", "%t", "%p", "%T", "%w", "%10.3s", "%c", "%U"} {
		for name, value := range map[string]any{
			"a Text": New(password), "a pointer": h.Pointer, "a struct": *h, "a pointer to a struct": h, "a slice": h.List, "a map": h.ByName,
			"an array": [1]Text{New(password)}, "a private field": struct{ t Text }{New(password)}, "a private pointer": struct{ t *Text }{h.Pointer},
			"a private interface": struct{ v any }{New(password)}, "a private slice": struct{ l []Text }{h.List},
		} {
			got := fmt.Sprintf(verb, value)
			own := name == "a Text" && !slices.Contains([]string{"%T", "%p", "%w"}, verb) // of those fmt asks no Formatter
			must.True(t, !leaks(got) && (!own || got == hidden), "%s of %s: %s", verb, name, got)
		}
	}
}

func TestNoLogShowsASecret(t *testing.T) {
	h := newHolder()
	var out bytes.Buffer
	plain := log.New(&out, "", 0)
	plain.Println(h, *h, h.Exported)
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(handler).With("held", h.Exported).Error("x", "text", h.Exported, "pointer", h.Pointer, "struct", *h, "list", h.List, "error", h.fails,
			slog.Group("group", "text", h.Exported))
	}
	must.True(t, !leaks(out.String()) && strings.Count(out.String(), hidden) >= 10, "logged: %s", out.String())
}

func TestNoErrorShowsASecret(t *testing.T) {
	h := newHolder()
	err := errors.Join(h.fails, fmt.Errorf("open %+v: %w", h, h.fails), fmt.Errorf("%w", errors.New(h.Exported.String())))
	text := fmt.Sprintf("%v %+v %#v", err, err, err)
	must.True(t, !leaks(text), "%v", text)
}

func TestNoEncodingShowsASecret(t *testing.T) {
	type plain struct {
		Secret Text
		List   []Text
		ByName map[string]Text
	}
	h := newHolder()
	p := plain{h.Exported, h.List, h.ByName}
	for name, encode := range map[string]func(any) ([]byte, error){
		"json": json.Marshal,
		"yaml": func(v any) ([]byte, error) { return yaml.Marshal(v) },
		"xml": func(v any) ([]byte, error) {
			return xml.Marshal(struct {
				XMLName xml.Name `xml:"secret"`
				Text    Text
			}{Text: v.(plain).Secret})
		},
		"template": func(v any) ([]byte, error) {
			var out bytes.Buffer
			err := template.Must(template.New("").Parse("{{.}} {{.Secret}} {{range .List}}{{.}}{{end}} {{js .Secret}} {{printf \"%x\" .Secret}}")).Execute(&out, v)
			return out.Bytes(), err
		},
	} {
		out, err := encode(p)
		must.True(t, err == nil && !leaks(string(out)) && bytes.Contains(out, []byte(hidden)), "%s: %s, %v", name, out, err)
	}
	for name, v := range map[string]any{"a Text": h.Exported, "a struct": p, "a list": h.List} {
		var out bytes.Buffer
		err := gob.NewEncoder(&out).Encode(v)
		must.True(t, err != nil && !leaks(out.String()), "gob of %s: %q, %v", name, out.String(), err)
	}
}

// What was hidden once must not come back as a password that reads [hidden].
func TestNothingDecodesIntoASecret(t *testing.T) {
	into := struct{ Secret Text }{New(password)}
	for name, decode := range map[string]func([]byte, any) error{"json": json.Unmarshal, "yaml": yaml.Unmarshal} {
		err := decode([]byte(`{"Secret": "[hidden]", "secret": "[hidden]"}`), &into)
		must.True(t, err != nil && into.Secret.Reveal() == password, "%s: %q, %v", name, into.Secret.Reveal(), err)
	}
}

// Printers such as spew and go-cmp walk through everything, fields that are not exported too.
func TestNoWalkByReflectionReachesASecret(t *testing.T) {
	var walk func(v reflect.Value)
	seen := 0
	walk = func(v reflect.Value) {
		seen++
		switch v.Kind() {
		case reflect.String:
			must.True(t, !leaks(v.String()), "reached %q", v.String())
		case reflect.Pointer, reflect.Interface:
			if !v.IsNil() {
				walk(v.Elem())
			}
		case reflect.Struct:
			for i := range v.NumField() {
				walk(v.Field(i))
			}
		case reflect.Slice, reflect.Array:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case reflect.Map:
			for _, key := range v.MapKeys() {
				walk(v.MapIndex(key))
			}
		}
	}
	walk(reflect.ValueOf(newHolder()))
	must.True(t, seen >= 15, "only %d values were looked at", seen)
}

func TestWhatMayBeASecretIsHidden(t *testing.T) {
	for text, want := range must.Rows[map[string]string](t, "hide") {
		must.Match(t, want, Hide(text), "Hide(%q)", text)
	}
	must.Match(t, hidden, HideValue("Authorization", "s"), "an authorization")
	must.Match(t, "1", HideValue("trace", "1"), "a trace")
}

func TestUserInfoIsNeverInWhatLeaves(t *testing.T) {
	for text, want := range must.Rows[map[string]string](t, "scrub") {
		must.Match(t, want, Scrub(text), "Scrub(%q)", text)
	}
	must.Match(t, "amqp://guest:[hidden]@127.0.0.1:1/", Hide("amqp://guest:SECRET@127.0.0.1:1/"), "a word of secrets within a password hides the rest")
}

func TestALearnedValueIsFoundInEveryForm(t *testing.T) {
	const value = `Pl4nt"ed/+é`
	asJSON, _ := json.Marshal("x " + value)
	before := []string{"0: " + value, string(asJSON), url.QueryEscape(value), url.PathEscape(value)}
	for _, user := range []string{"", "a:", "ab:", "abc:", "alice:"} {
		before = append(before, base64.StdEncoding.EncodeToString([]byte(user+value)), base64.URLEncoding.EncodeToString([]byte(user+value+"\n")))
	}
	for _, text := range before {
		must.Match(t, text, Scrub(text), "is changed before it is known")
	}
	_ = New(value)
	for _, text := range before {
		got := Scrub(text)
		must.True(t, strings.Contains(got, hidden) && !strings.Contains(got, "Pl4nt"), "Scrub(%q) = %q", text, got)
	}
}

// A password may be a word of kt's own, or a number of a result.
func TestCommonValuesAreNotLookedFor(t *testing.T) {
	const text = `{"command":"produce","acknowledged":123456,"seconds":1.25,"at":"127.0.0.1:9092","x":"test 1"}`
	Learn("produce", "acknowledged", "123456", "1.25", "127.0.0.1:9092", "test 1"[:4], "1", "")
	must.Match(t, text, Scrub(text), "the value")
	Learn("Pw1:Us") // 6 bytes: found by chance in megabytes of base64
	must.Match(t, "Pw1:Us", Scrub("Pw1:Us"), "of 6 bytes")
	Cover("Alice-1")
	must.Match(t, "Alice-1", Scrub("Alice-1"), "a name that is covered")
}

func TestWhatAUserGaveIsLearned(t *testing.T) {
	LearnFrom("--url=amqp://u:Gr%40pes1@h/", `curl -H "Authorization: Bearer Gr4pes2" http://h`, "GITHUB_TOKEN=Gr4pes3", "mysql --password Gr4pes4 -h db-1", "TOKEN_FILE=/run/T0ken", "http://Gr4pes5@h")
	for text, want := range map[string]string{
		"Gr%40pes1 Gr@pes1": "[hidden] [hidden]", "Gr4pes2 Gr4pes3 Gr4pes4 Gr4pes5": "[hidden] [hidden] [hidden] [hidden]", "Bearer db-1 /run/T0ken": "Bearer db-1 /run/T0ken",
	} {
		must.Match(t, want, Scrub(text), "Scrub(%q)", text)
	}
}

func TestOldValuesAreForgotten(t *testing.T) {
	Learn("Firs7-secret")
	tokens := make([]string, 2*mostKnown)
	for i := range tokens {
		tokens[i] = fmt.Sprintf("T0ken-%d-", i)
	}
	Learn(tokens...)
	must.Match(t, "[hidden] "+tokens[mostKnown]+" [hidden]", Scrub("Firs7-secret "+tokens[mostKnown]+" "+tokens[2*mostKnown-1]), "the value")
	known.mu.Lock()
	defer known.mu.Unlock()
	n := len(known.forms)
	must.True(t, n <= mostKnown, "%d forms are known", n)
}

// FuzzScrub puts a secret between two texts.
//   - It is not in what leaves, whatever is around it.
//   - JSON stays JSON.
func FuzzScrub(f *testing.F) {
	const planted = "Pl4nted-Secret"
	Learn(planted)
	for _, s := range [][2]string{{"", ""}, {"http://u:", "@h/"}, {`{"a":"x`, `y","b":1}`}, {`["u:`, `@h","http://a:b@c"]`}, {"://", "@@"}, {"password=", " x"}, {`"\n`, `:x@\\"`}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		text := before + planted + after
		once := Scrub(text)
		must.Hold(t, !strings.Contains(once, planted) || strings.Contains(strings.ReplaceAll(text, planted, ""), planted),
			"%q leaves as %q", text, once)
		once = ScrubJSON(text)
		must.Hold(t, !json.Valid([]byte(text)) || json.Valid([]byte(once)), "%s becomes %s", text, once)
	})
}

func TestASecretInQuotesLeavesJSONWhole(t *testing.T) {
	Learn(`"produce"`, `","Acks9":"`, `Qp7"secret`)
	doc := `{"command":"produce","name":"a","Acks9":"b","text":"Qp7\"secret"}`
	want := `{"command":"produce","name":"a","Acks9":"b","text":"[hidden]"}`
	must.Match(t, want, ScrubJSON(doc), "%s", doc)
	got := Scrub(`url.password="produce" Qp7"secret`)
	must.True(t, !strings.Contains(got, "produce") && !strings.Contains(got, "Qp7"), "%v", got)
}
