package properties

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/must"
)

// escaped writes properties as java.util.Properties.store does.
func escaped(list []Property) string {
	var b strings.Builder
	text := func(s string) {
		for _, r := range s {
			switch {
			case r == '\n':
				b.WriteString(`\n`)
			case r == '\r':
				b.WriteString(`\r`)
			case r < 0x80 && r != '\t' && r != '\f' && !strings.ContainsRune(` =:#!\`, r):
				b.WriteRune(r)
			case r < 0x100:
				b.WriteString(`\`)
				switch r {
				case '\t':
					r = 't'
				case '\f':
					r = 'f'
				}
				b.WriteByte(byte(r))
			case r > 0xffff:
				const first, second, low = 0xd800, 0xdc00, 0x10000
				for _, unit := range []rune{first + (r-low)>>10, second + (r-low)&0x3ff} {
					b.WriteString(hexUnit(unit))
				}
			default:
				b.WriteString(hexUnit(r))
			}
		}
	}
	for _, p := range list {
		text(p.Key)
		b.WriteByte('=')
		text(p.Value)
		b.WriteByte('\n')
	}
	return b.String()
}

func hexUnit(r rune) string {
	const digits = "0123456789abcdef"
	return `\u` + string([]byte{digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15]})
}

// What java.util.Properties.load of JDK 17 makes of each of these.
func TestTheLinesOfPropertiesFilesAreJavas(t *testing.T) {
	for text, want := range map[string][]Property{
		"a=1\rb=2\r\n\r\nc=3":                {{"a", "1", 1}, {"b", "2", 2}, {"c", "3", 4}},
		"a=1\nb:2\nc 3\n":                    {{"a", "1", 1}, {"b", "2", 2}, {"c", "3", 3}},
		"a = 1\nb\t:\t2\n   c=3":             {{"a", "1", 1}, {"b", "2", 2}, {"c", "3", 3}},
		"# a=1\n  ! b=2\nc=3 # not one":      {{"c", "3 # not one", 3}},
		"sasl.password=pa${ss}w$rd${":        {{"sasl.password", "pa${ss}w$rd${", 1}},
		"a=one,\\\n    two,\\\n\tthree\nb=2": {{"a", "one,two,three", 1}, {"b", "2", 4}},
		"a=one,\\\r\n    two\r\nb=2\r\n":     {{"a", "one,two", 1}, {"b", "2", 3}},
		"a=C:\\\\\nb=2":                      {{"a", `C:\`, 1}, {"b", "2", 2}},
		`a=\q\"\:`:                           {{"a", `q":`, 1}},
		"a=caf\xe9":                          {{"a", "café", 1}},
		"a=café":                             {{"a", "cafÃ©", 1}},
		`a=caf\u00e9\t.`:                     {{"a", "café\t.", 1}},
		"a=1  \nb=2":                         {{"a", "1  ", 1}, {"b", "2", 2}},
		"a.b\nb.c=\n":                        {{"a.b", "", 1}, {"b.c", "", 2}},
		"a=1\na=2":                           {{"a", "1", 1}, {"a", "2", 2}}, // the last one counts
		"# a comment \\\nb=2":                {{"b", "2", 2}},
		"a=1\\\n# no comment":                {{"a", "1# no comment", 1}},
		"a=1\\\n\nb=2":                       {{"a", "1", 1}, {"b", "2", 3}},
		"\\\n# a comment\nb=2":               {{"b", "2", 3}},
		"a=1\\":                              {{"a", "1", 1}},
		"a=1\\\\\\\n   2":                    {{"a", "1\\2", 1}},
		" \t\f a\f=\f1":                      {{"a", "1", 1}},
		"a b=c":                              {{"a", "b=c", 1}},
		"a = = c":                            {{"a", "= c", 1}},
		"a:=c":                               {{"a", "=c", 1}},
		"=1":                                 {{"", "1", 1}},
		`\:a\ b\=c = d`:                      {{":a b=c", "d", 1}},
		`a=\ud83d\ude00`:                     {{"a", "😀", 1}},
		`a=\u00E9\u0041`:                     {{"a", "éA", 1}},
		`a=\\u0041`:                          {{"a", `\u0041`, 1}},
		`\u0061=1`:                           {{"a", "1", 1}},
		"a=${file:/etc/passwd:x} ${env:A}":   {{"a", "${file:/etc/passwd:x} ${env:A}", 1}},
		"a=\x00\xff":                         {{"a", "\x00ÿ", 1}},
	} {
		got, err := Parse([]byte(text))
		diff := cmp.Diff(want, got)
		must.True(t, err == nil && diff == "", "%q: %v (-want +got):\n%s", text, err, diff)
	}
	for _, text := range []string{`a=\u12`, `a=\u12g4`, `a=\u+123`, "x=1\n" + `a\u=1`} {
		got, err := Parse([]byte(text))
		must.True(t, err != nil && strings.HasPrefix(err.Error(), "line "), "%q gives %v, %v", text, got, err)
	}
}

// FuzzProperties reads a Java properties file.
//   - It never panics.
//   - What was read, written as Java writes it, is read as the same.
//   - Lines are those of the file, in order.
func FuzzProperties(f *testing.F) {
	for _, s := range []string{
		"a=1\nb:2\nc 3\n", "# c\n!d\n\ta = 1\\\n   2\r\nb=\\u00e9\\t", `\:a\ b\=c = d\\`, "a=\\ud83d\\ude00", "a=\\ud83d", "=\n:\n \\\n\\", "k=${env:HOME}\r\r", "a\\u=1",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := Parse(data)
		if err != nil {
			return
		}
		last := 0
		lines := len(strings.FieldsFunc(string(data)+" ", func(r rune) bool { return r == '\n' || r == '\r' })) + strings.Count(string(data), "\n") + strings.Count(string(data), "\r")
		for _, p := range list {
			must.Hold(t, p.Line > last && p.Line <= lines && utf8.ValidString(p.Key+p.Value), "%q: %+v after line %d", data, p, last)
			last = p.Line
		}
		text := escaped(list)
		again, err := Parse([]byte(text))
		must.Hold(t, err == nil && len(again) == len(list), "%q is written as %q, which gives %v, %v", data, text, again, err)
		for i, p := range again {
			must.Hold(t, p.Key == list[i].Key && p.Value == list[i].Value, "%q: %+v is written as %q, which gives %+v", data, list[i], text, p)
		}
	})
}

func TestLinesThatContinueNothingAreNoProperties(t *testing.T) {
	const pem = "ssl.keystore.key=-----BEGIN PRIVATE KEY-----"
	for _, r := range []struct {
		name, text string
		whole      string // names
		stray      []Stray
	}{
		{"properties", "acks=all\nlinger.ms=5\nmy_own=1", "acks linger.ms my_own", nil},
		{"a misspelt one", "ack=all", "ack", nil},
		{"PEM text", pem + "\nMIGHAgEA\nabcd\n-----END PRIVATE KEY-----\nacks=all", "ssl.keystore.key acks", []Stray{{2, "ssl.keystore.key"}}},
		{"two of them", pem + "\nabcd\n-----END X-----\nssl.truststore.certificates=-----BEGIN CERTIFICATE-----\nabcd\n-----END CERTIFICATE-----", "ssl.keystore.key ssl.truststore.certificates", []Stray{{2, "ssl.keystore.key"}, {5, "ssl.truststore.certificates"}}},
		{"PEM text without an end", pem + "\nMIGHAgEA\nlinger.ms=5\nacks=all", "ssl.keystore.key linger.ms acks", []Stray{{2, "ssl.keystore.key"}}},
		{"PEM text that is continued", pem + "\\n\\\nMIGHAgEA\\n\\\n-----END PRIVATE KEY-----\nacks=all", "ssl.keystore.key acks", nil},
		{"base64 alone", "MIGHAgEAMBMGByqGSM49AgEGCCqG\nOF/2N+==\nacks=1", "acks", []Stray{{1, ""}}},
		{"a token", "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.s", "", []Stray{{1, ""}}},
		{"a password in quotes", "sasl.jaas.config=x required password=\n\"hunter2\";", "sasl.jaas.config", []Stray{{2, ""}}},
	} {
		list := must.Have(Parse([]byte(r.text)))(t)
		whole, stray := Whole(list)
		var names []string
		for _, p := range whole {
			names = append(names, p.Key)
		}
		diff := cmp.Diff(r.stray, stray)
		must.True(t, diff == "" && strings.Join(names, " ") == r.whole, "%s: %q (-want +got):\n%s", r.name, names, diff)
	}
}
