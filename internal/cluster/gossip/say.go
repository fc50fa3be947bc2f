package gossip

import (
	"fmt"
	"strconv"
	"strings"
)

// textLimit bounds a peer's text in a line, in bytes.
const textLimit = 200

// report logs a line.
func (g *Gossip) report(format string, args ...any) { g.log(fmt.Sprintf(format, args...)) }

// clean makes a peer's text safe for a terminal.
func clean(text string) string {
	text = strings.TrimSpace(text)
	quoted := strconv.QuoteToGraphic(cut(text, textLimit))
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`) // a quote steers nothing
}
