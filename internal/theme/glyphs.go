package theme

// Glyphs are the characters that kt draws with. Each is one cell wide.
type Glyphs struct {
	TopLeft, TopRight, BottomLeft, BottomRight rune
	Horizontal, Vertical                       rune

	Tick, Axis, Corner, Base, Gridline rune // of a chart

	GaugeFull, GaugeHalf, GaugeEmpty rune

	Dot       rune // before a state
	Arrow     rune // from the command to its topic
	Separator rune // between parts of a line
	Alert     rune // before a line that wants to be read
	Event     rune // something happened here, on a time axis
	Ellipsis  rune
	Missing   rune // a number that there is none of
	Pass      rune // before a check that passed
	Cross     rune // before one that failed
	Hollow    rune // before one that could not be made

	Eighths [9]rune // bars, from nothing to a full cell
	Shades  [7]rune // density, from nothing to full
}

var unicodeGlyphs = Glyphs{
	TopLeft: '╭', TopRight: '╮', BottomLeft: '╰', BottomRight: '╯',
	Horizontal: '─', Vertical: '│',
	Tick: '┤', Axis: '│', Corner: '└', Base: '─', Gridline: '┈',
	GaugeFull: '━', GaugeHalf: '╸', GaugeEmpty: '─',
	Dot: '●', Arrow: '▸', Separator: '·', Alert: '▲', Event: '▼', Ellipsis: '…', Missing: '–',
	Pass: '✓', Cross: '✕', Hollow: '○',
	Eighths: [9]rune{' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'},
	Shades:  [7]rune{' ', '·', ':', '░', '▒', '▓', '█'},
}

var asciiGlyphs = Glyphs{
	TopLeft: '+', TopRight: '+', BottomLeft: '+', BottomRight: '+',
	Horizontal: '-', Vertical: '|',
	Tick: '+', Axis: '|', Corner: '+', Base: '-', Gridline: '.',
	GaugeFull: '=', GaugeHalf: '-', GaugeEmpty: '.',
	Dot: '*', Arrow: '>', Separator: '|', Alert: '!', Event: 'v', Ellipsis: '~', Missing: '-',
	Pass: '+', Cross: 'x', Hollow: '?',
	Eighths: [9]rune{' ', '_', '.', ':', '-', '=', '+', '*', '#'},
	Shades:  [7]rune{' ', '.', ':', '-', '+', '*', '#'},
}

// Fold returns the ASCII character that stands for a character of kt's own texts, one
// for one; '?' for all others.
func Fold(r rune) rune {
	switch r {
	case 'µ', 'μ':
		return 'u'
	case '·':
		return '|'
	case '→', '▸':
		return '>'
	case '–', '—', '─', '━', '−':
		return '-'
	case '…':
		return '~'
	case '≤':
		return '<'
	case '≥':
		return '>'
	case '×':
		return 'x'
	case '’', '‘':
		return '\''
	case '“', '”':
		return '"'
	}
	if r < ' ' || r > '~' {
		return '?'
	}
	return r
}
