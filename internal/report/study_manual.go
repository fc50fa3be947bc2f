package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/kt-bench/kt/internal/study"
)

// StudyManual writes the list of the studies that kt has, as Markdown.
func StudyManual(w io.Writer, all []*study.Study) error {
	var b strings.Builder
	b.WriteString("| study | question | varies | what the account found |\n|---|---|---|---|\n")
	for _, s := range all {
		var varies []string
		for _, f := range s.Factors {
			values := strings.Join(f.Values, ", ")
			if f.Search != nil {
				values = "searched in " + f.Search.String()
			}
			varies = append(varies, "`"+f.Name+"` "+values)
		}
		for _, part := range s.Parts {
			varies = append(varies, "part `"+part.Name+"`")
		}
		for _, g := range s.Given {
			varies = append(varies, "`--set "+g.Name+"=…`")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", s.Name, cell(s.About), strings.Join(varies, "; "), cell(s.Found))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
