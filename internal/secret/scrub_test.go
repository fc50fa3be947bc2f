package secret

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

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
		if got := Scrub(text); !strings.Contains(got, hidden) || strings.Contains(got, "Pl4nt") {
			t.Errorf("Scrub(%q) = %q", text, got)
		}
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
	if n := len(known.forms); n > mostKnown {
		t.Errorf("%d forms are known", n)
	}
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
		if strings.Contains(once, planted) && !strings.Contains(strings.ReplaceAll(text, planted, ""), planted) {
			t.Fatalf("%q leaves as %q", text, once)
		}
		if once = ScrubJSON(text); json.Valid([]byte(text)) && !json.Valid([]byte(once)) {
			t.Fatalf("%s becomes %s", text, once)
		}
	})
}

func TestASecretInQuotesLeavesJSONWhole(t *testing.T) {
	Learn(`"produce"`, `","Acks9":"`, `Qp7"secret`)
	doc := `{"command":"produce","name":"a","Acks9":"b","text":"Qp7\"secret"}`
	want := `{"command":"produce","name":"a","Acks9":"b","text":"[hidden]"}`
	must.Match(t, want, ScrubJSON(doc), "%s", doc)
	if got := Scrub(`url.password="produce" Qp7"secret`); strings.Contains(got, "produce") || strings.Contains(got, "Qp7") {
		t.Error(got)
	}
}
