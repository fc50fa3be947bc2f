package report

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tune"
	"github.com/kt-bench/kt/profiles"
)

func TestTheManualOfTheChecksIsThatOfTheCatalogue(t *testing.T) {
	var all []*tune.Profile
	for _, name := range tune.ProfileNames(profiles.Of("tune")) {
		p := must.Have(tune.LoadProfile(name, profiles.Of("tune"), os.ReadFile))(t)
		all = append(all, p)
	}
	var b bytes.Buffer
	must.Do(t, tuneManual(&b, tune.Catalogue(), all))
	must.Golden(t, "../../docs/checks.md", b.String())
}

// tuneManual writes the catalogue as a page of documentation, in Markdown.
func tuneManual(w io.Writer, settings []*tune.Setting, profiles []*tune.Profile) error {
	return buffered(w, func(b *bytes.Buffer) {
		applied := len(slices.DeleteFunc(slices.Clone(settings), func(s *tune.Setting) bool { return !s.Applies }))
		fmt.Fprintf(b, `# What kt tune checks

<!-- Written by go test ./internal/report -update, from internal/tune. Do not edit. -->

%d checks; `+"`kt tune --apply`"+` can change what %d of them find, marked *applied*. The same text for one
check: `+"`kt tune --explain ID`"+`. Severity: fatal (Kafka fails or loses data; exit code 3), warn (an effect
is documented or measured; exit code 3 with --strict), info.

`, len(settings), applied)
		for _, g := range tune.Groups {
			fmt.Fprintf(b, "\n## %s\n", groupTitles[g])
			for _, s := range settings {
				if s.Group == g {
					manualEntry(b, s, profiles)
				}
			}
		}
	})
}

func manualEntry(b *bytes.Buffer, s *tune.Setting, profiles []*tune.Profile) {
	applied := ""
	if s.Applies {
		applied = ", *applied*"
	}
	fmt.Fprintf(b, "\n### %s\n\n%s: %s (%s; %s%s).\n\n", s.ID, cell(capital(s.Title)), cell(s.Why), s.Severity, rolesOf(s), applied)
	if s.Detail != "" {
		fmt.Fprintf(b, "%s\n\n", cell(s.Detail))
	}
	var wanted []string
	for _, p := range profiles {
		wanted = append(wanted, p.Name+": "+wantedBy(p, s))
	}
	if w := strings.Join(wanted, ", "); !strings.Contains(w, "see below") {
		fmt.Fprintf(b, "- Wanted: %s\n", cell(w))
	}
	fmt.Fprintf(b, "- Reads: %s\n- Sources (%s): %s\n", cell(strings.Join(s.Reads, ", ")), s.Confidence, cell(strings.Join(s.Sources, "; ")))
	if s.Risk != "" {
		fmt.Fprintf(b, "- Risk of changing it: %s\n", cell(s.Risk))
	}
}

// capital makes the first letter a capital, unless the word is a name that is
// written otherwise, as dirty_ratio.
func capital(s string) string {
	word, _, _ := strings.Cut(s, " ")
	if s == "" || strings.ContainsAny(word, "_.") || word[0] < 'a' || word[0] > 'z' {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// cell is text as a cell of a Markdown table.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ", "<", "&lt;", ">", "&gt;", "`", "'").Replace(theme.Clean(s))
}
