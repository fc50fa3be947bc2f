package tui

import (
	"cmp"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// Options are what the screen needs beside the run itself.
type Options struct {
	Theme *theme.Theme     // nil: without colours
	FPS   int              // frames a second; 0: 4
	Now   func() time.Time // nil: time.Now

	// Stop and Interrupt ask for the end of the load, by q and by ctrl+c; one of
	// them is called, once. Abort asks to leave without waiting for acks, and is
	// called at most once. Each runs on a goroutine of its own. nil: nothing.
	Stop, Interrupt, Abort func()

	// Faster asks for a higher rate of the load, or a lower one, and Save saves a frame. Each
	// returns a note for the footer. Pause stops a replay, or lets it go on. nil: nothing.
	Faster func(up bool) (note string)
	Save   func(frame string) (note string)
	Pause  func(on bool)

	// Oldest returns since when the oldest record without an outcome has waited, and the
	// time now, both from the start of the run; waits is false when none does. It is
	// called with each frame. nil: the windows of the ticks say it.
	Oldest func() (since, now time.Duration, waits bool)

	// Background is called when the terminal says its background. nil: the terminal is
	// not asked, and the theme stays.
	Background func(light bool)
}

// defaultFPS is enough for a clock; charts move once a second.
const defaultFPS = 4

// Model is the one Bubble Tea model. It is not safe for concurrent use: Bubble
// Tea calls its methods one after the other.
type Model struct {
	options Options
	data    *data
	scene   scene // data is nil: frame fills it in

	w, h    int
	left    bool      // what is shown is empty: see leave
	ticked  time.Time // when the last tick came from which the clock goes on
	started time.Time
	now     time.Time
	noted   time.Time // when the note of the scene came
}

var _ tea.Model = Model{}

// clockMsg comes with every frame.
type clockMsg struct{}

// noteMsg is a note for the footer.
type noteMsg string

// noteTime is how long a note is shown.
const noteTime = 5 * time.Second

// leaveMsg ends the program.
type leaveMsg struct{}

// NewModel returns the model of a run that is about to begin.
func NewModel(h Header, o Options) Model {
	o.Theme, o.FPS = cmp.Or(o.Theme, theme.New(theme.Options{Dark: true})), cmp.Or(o.FPS, defaultFPS)
	if o.Now == nil {
		o.Now = time.Now
	}
	now := o.Now()
	d := newData(h)
	d.looksItself = o.Oldest != nil
	return Model{options: o, data: d, scene: scene{span: defaultSpan, chart: paneThroughput}, started: now, now: now}
}

// Init starts the clock, and asks for the background.
func (m Model) Init() tea.Cmd {
	if m.options.Background == nil {
		return m.clock()
	}
	return tea.Batch(m.clock(), tea.RequestBackgroundColor)
}

func (m Model) clock() tea.Cmd {
	return tea.Tick(time.Second/time.Duration(m.options.FPS), func(time.Time) tea.Msg { return clockMsg{} })
}

// Update takes one message in.
func (m Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.w, m.h = msg.Width, msg.Height
	case clockMsg:
		m.now = m.options.Now()
		m.checkOldest()
		if m.now.Sub(m.noted) >= noteTime {
			m.scene.note = ""
		}
		return m, m.clock()
	case Tick:
		m.now = m.options.Now()
		m.data.observe(msg)
		m.checkOldest()
		// Else the load goes on, and none of the hosts tells of it any more.
		if d := m.data; d.silent == 0 || !d.begun() || d.Stage < result.WarmingUp || d.Stage >= result.Draining {
			m.ticked = m.now
		}
	case tea.BackgroundColorMsg:
		m.options.Background(!msg.IsDark())
		m.options.Theme = m.options.Theme.On(msg.IsDark())
	case leaveMsg:
		cmd := m.leave()
		return m, cmd
	case noteMsg:
		m.note(string(msg))
	case tea.KeyPressMsg:
		for _, b := range m.data.bindings() {
			if key := msg.String(); b.is(key) {
				cmd := b.do(&m, key)
				return m, cmd
			}
		}
	}
	return m, nil
}

// leave ends the program with an empty screen: some terminals that were resized show
// rows of it again, above what was there before.
func (m *Model) leave() tea.Cmd {
	m.left = true
	return tea.Quit
}

func (m *Model) note(text string) { m.scene.note, m.noted = text, m.now }

// checkOldest looks at the oldest record between two ticks: a stall is to be seen at once.
func (m Model) checkOldest() {
	if m.options.Oldest == nil {
		return
	}
	since, now, waits := m.options.Oldest()
	if !waits {
		since = now
	}
	m.data.lookAtOldest(since, now)
}

// freeze keeps the display as it is, or lets it go on.
func (m *Model) freeze() {
	s := &m.scene
	s.frozen = !s.frozen
	s.data = nil
	if s.frozen {
		s.clock = m.elapsed()
		s.data = m.data.clone()
	}
	if m.options.Pause != nil {
		m.options.Pause(s.frozen)
	}
}

// move selects another host, and scrolls the partitions.
func (m *Model) move(by int) {
	s, hosts := &m.scene, m.data.hosts
	if s.frozen { // it may show fewer
		hosts = s.hosts
	}
	s.selected, s.row = max(min(s.selected+by, len(hosts)-1), 0), max(min(s.row+by, len(m.data.rows)-1), 0)
}

// changeRate asks for another rate, as long as there is a load.
func (m *Model) changeRate(up bool) {
	note := "the load is over: its rate stays"
	if m.options.Faster != nil && !m.scene.stopping && m.data.Stage < result.Draining {
		note = m.options.Faster(up)
	}
	m.note(note)
}

// save saves what is seen, without colours: a pane without them tells its lines apart.
func (m Model) save() tea.Cmd {
	if m.options.Save == nil {
		return nil
	}
	m.options.Theme, m.scene.note = theme.New(theme.Options{ASCII: m.options.Theme.ASCII()}), ""
	frame := m.frame()
	return func() tea.Msg { return noteMsg(m.options.Save(frame)) }
}

// turn shows the next pane, or the one before. Where there is room for one chart over
// the hosts, that is the other chart.
func (m *Model) turn(by int) {
	s, panes := &m.scene, m.data.panes()
	switch {
	case s.zoom != grid || !m.data.many() || roomy(m.w, m.h):
		n := len(panes)
		s.zoom = panes[(slices.Index(panes, s.zoom)+n+by)%n]
	case s.chart == paneThroughput:
		s.chart = paneLatency
	default:
		s.chart = paneThroughput
	}
}

// back leaves what was entered last.
func (s *scene) back() {
	switch {
	case s.help:
		s.help = false
	case s.zoom != grid:
		s.zoom = grid
	default:
		s.one = false
	}
}

// stop asks for the end of the load, the second time for the end of everything.
// A run that is over has nothing to stop.
func (m *Model) stop(ask func()) tea.Cmd {
	switch {
	case m.data.Stage == result.Finished:
		return m.leave()
	case m.scene.stopping:
		return tea.Sequence(call(m.options.Abort), func() tea.Msg { return leaveMsg{} })
	}
	m.scene.stopping = true
	return call(ask)
}

// call returns a command that calls f.
func call(f func()) tea.Cmd {
	if f == nil {
		return nil
	}
	return func() tea.Msg {
		f()
		return nil
	}
}

// elapsed returns the time of the run: that of the last tick, and what has passed
// since then. It is below 0 until a start that is agreed, and the time that was waited
// before that.
func (m Model) elapsed() time.Duration {
	switch {
	case m.data.gathering() && m.data.startsIn > 0:
		return m.now.Sub(m.ticked) - m.data.startsIn
	case m.ticked.IsZero(), m.data.gathering():
		return m.now.Sub(m.started)
	case m.data.Stage == result.Finished || m.data.header.Replay:
		return m.data.At
	}
	return m.data.At + m.now.Sub(m.ticked)
}

// View draws a frame.
func (m Model) View() tea.View {
	v := tea.NewView(m.frame())
	v.AltScreen = true
	v.WindowTitle = m.data.header.name()
	return v
}

// frame returns the screen as text.
func (m Model) frame() string {
	if m.left {
		return chart.New(m.w, m.h, m.options.Theme).String()
	}
	s := m.scene
	if !s.frozen {
		s.data, s.clock = m.data, m.elapsed()
	}
	return frame(&s, m.options.Theme, m.w, m.h)
}
