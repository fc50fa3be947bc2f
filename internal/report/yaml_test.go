package report

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

func TestStringsThatYAML11ReadsAsAnotherTypeAreQuoted(t *testing.T) {
	for _, word := range strings.Fields("y Y yes Yes YES n N no No NO on On ON off Off OFF true True false null Null NULL ~ = << 1:20 -190:20:30 1:20.5 010 0b10 0x1F 1_000 1e3 .inf .NaN 2001-12-14 2001-12-14t21:59:43.10-05:00") {
		var out strings.Builder
		must.Have(0, asYAML(&out, func(w io.Writer) error {
			return json.NewEncoder(w).Encode(map[string]string{"current": word, word: "plain"})
		}))(t)
		must.Has(t, word, out.String(), `current: "`+word+`"`+"\n")
		must.Has(t, word, out.String(), `"`+word+`": plain`+"\n")
	}
}
