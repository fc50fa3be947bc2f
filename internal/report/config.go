package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// Config is the configuration of a load: its flags, and the properties of its clients. A client that
// the load does not have is nil.
type Config struct{ Flags, Security, Producer, Consumer []result.Setting }

// Write writes a line for each value, with its source.
func (c Config) Write(w io.Writer) error {
	var b strings.Builder
	row := func(format string, args ...any) { b.WriteString(theme.Clean(fmt.Sprintf(format, args...)) + "\n") }
	b.WriteString("# flags\n")
	for _, f := range c.Flags {
		row("%-42s %-24s %s", f.Name, f.Value, f.Source)
	}
	properties := func(client string, settings []result.Setting) {
		if settings == nil {
			return
		}
		fmt.Fprintf(&b, "\n# %s properties\n", client)
		for _, s := range settings {
			row("%-42s %-24s %-18s %s", s.Name, s.Value, s.Source, strings.TrimSpace(s.Client+"  "+s.Note))
		}
	}
	properties("security", c.Security)
	properties("producer", c.Producer)
	properties("consumer", c.Consumer)
	_, err := io.WriteString(w, b.String())
	return err
}
