package tune

import "github.com/kt-bench/kt/internal/suggest"

// didYouMean is "; did you mean X?" for the name most like another, or "".
func didYouMean(name string, names []string) string {
	if n := suggest.Nearest(name, names); n != "" {
		return "; did you mean " + n + "?"
	}
	return ""
}
