package payload

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/codec"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
)

// Where each payload begins and ends takes memory too, more than the file where they are short.
func TestAPayloadFileHoldsSoManyPayloadsAtMost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "payloads")
	for over := range 2 {
		must.Do(t, os.WriteFile(path, bytes.Repeat([]byte("a\n"), maxPayloads+over), 0o600))
		_, err := MakeValues(&plan.Plan{Payload: plan.Payload{Kind: plan.File, File: path, Delimiter: "\n"}})
		if (err != nil) != (over > 0) || err != nil && (!strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), strconv.Itoa(maxPayloads))) {
			t.Errorf("%d over: %v", over, err)
		}
	}
}

// packed returns a text in a file of gzip.
func packed(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	must.Do(t, errors.Join(err, w.Close()))
	return b.String()
}

func TestPayloadsAreTheLinesOfAFileHoweverItWasWritten(t *testing.T) {
	const mark = "\xef\xbb\xbf"
	for name, tc := range map[string]struct {
		content, delimiter string
		want               []string
	}{
		"lines":                      {"a\nb\n\nc", "", []string{"a", "b", "c"}},
		"lines of Windows":           {"a\r\nb\r\n\r\nc\n", "", []string{"a", "b", "c"}},
		"a line feed that was given": {"a\r\nb\r\n", "\n", []string{"a\r", "b\r"}},
		"both that were given":       {"a\nb\r\nc", "\r\n", []string{"a\nb", "c"}},
		"a byte order mark":          {mark + "a\r\n" + mark + "b", "", []string{"a", mark + "b"}},
		"gzip":                       {packed(t, mark+"a\r\nb"), "", []string{"a", "b"}},
		"two files of gzip":          {packed(t, "a\n") + packed(t, "b\n"), "", []string{"a", "b"}},
		"gzip by a delimiter":        {packed(t, "a|b"), "|", []string{"a", "b"}},
		"zstd":                       {string(codec.Zstd(19).Append(nil, []byte(mark+"a\nb\n"))), "", []string{"a", "b"}},
		"a few bytes":                {"\x1f", "", []string{"\x1f"}},
	} {
		path := filepath.Join(t.TempDir(), "payloads")
		must.Do(t, os.WriteFile(path, []byte(tc.content), 0o600))
		p := plan.Payload{File: path, Delimiter: tc.delimiter}
		v, err := readLines(&p)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, line := range v.lines {
			got = append(got, string(line))
		}
		must.Match(t, tc.want, got, "%s", name)
	}
}

func TestAWholeFileKeepsItsSizeWithAStamp(t *testing.T) {
	content := "\xef\xbb\xbf" + strings.Repeat("a\r\n", 20)
	path := filepath.Join(t.TempDir(), "payload")
	must.Do(t, os.WriteFile(path, []byte(content), 0o600))
	for _, stamp := range []bool{false, true} {
		p := plan.Plan{Producers: 1, Payload: plan.Payload{Kind: plan.File, File: path, Whole: true, Keys: plan.NoKeys, Stamp: stamp}}
		v := must.Have(MakeValues(&p))(t)
		_, value := v.Generator(p, 0, 1).Fill(new(Memory), 0)
		want := content
		if stamp {
			want = string(make([]byte, plan.StampBytes)) + content[plan.StampBytes:]
		}
		must.Match(t, want, string(value), "stamp %v", stamp)
		must.Match(t, len(content), p.Payload.MaxBytes(), "the largest record, stamp %v", stamp)
	}
}

func TestAPayloadFileThatCannotBeUnpackedIsRefused(t *testing.T) {
	whole := packed(t, "a\nb\n")
	const limit = 1 << 20
	zeros := strings.Repeat("\x00", limit)
	for name, tc := range map[string]struct{ content, want string }{
		"gzip that is cut off":        {whole[:len(whole)-3], "unpacked by gzip: unexpected EOF"},
		"gzip with something else":    {whole + "c\n", "unpacked by gzip: "},
		"no more than a mark of gzip": {"\x1f\x8b", "unpacked by gzip: "},
		"zstd that is cut off":        {"\x28\xb5\x2f\xfd\x00", "unpacked by zstd: "},
		"more than the limit, gzip":   {packed(t, zeros+"\x00"), "unpacked by gzip: it is over 1 MiB long"},
		"more than the limit, zstd":   {string(codec.Zstd(3).Append(nil, []byte(zeros+"\x00"))), "unpacked by zstd: it is over 1 MiB long"},
		"as much as the limit":        {packed(t, zeros), ""},
	} {
		path := filepath.Join(t.TempDir(), "payloads")
		must.Do(t, os.WriteFile(path, []byte(tc.content), 0o600))
		if _, err := readFile(path, limit); (err == nil) != (tc.want == "") || err != nil && !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// Keys of a Zipf law are as often and as long as the plan says, and the busiest one is known.
func TestKeysHaveTheLawOfThePlan(t *testing.T) {
	for _, s := range []float64{0.5, 1, 1.1, 2} {
		const keys, records = 3000, 200_000
		p := plan.Plan{Seed: 1, Payload: plan.Payload{Kind: plan.Letters, Size: plan.FixedSize(1), Keys: plan.KeyDistribution(fmt.Sprintf("zipf:%g", s)), KeyRange: keys}}
		g := must.Have(MakeValues(&p))(t).Generator(p, 0, 1)
		var m Memory
		busiest, size, law := 0, 0, 0.0
		for i := range int64(records) {
			key, value := g.Fill(&m, i)
			busiest += g.Busiest(key)
			size += len(key) + len(value)
		}
		for k := range keys {
			law += math.Pow(float64(k+1), -s)
		}
		if got, want := float64(busiest)/records, 1/law; math.Abs(got-want) > 4*math.Sqrt(want/records) {
			t.Errorf("zipf:%g: the busiest key has %g of the records, want %g", s, got, want)
		}
		if got, want := float64(size)/records, p.Payload.MeanBytes(); math.Abs(got-want) > 0.02 {
			t.Errorf("zipf:%g: records have %g bytes, want %g", s, got, want)
		}
	}
}
