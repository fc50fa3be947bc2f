package tui

import (
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// drawPane draws one pane in its place.
func drawPane(c chart.Canvas, p pane, s *scene) {
	switch p {
	case grid:
	case paneThroughput:
		drawThroughput(c, s.subject())
		drawSubject(c, s)
	case paneLatency:
		if sub := s.subject(); sub.untimed() {
			drawConsumerLag(c, sub)
		} else {
			drawLatency(c, sub)
		}
		drawSubject(c, s)
	case paneHeatmap:
		whole := *s
		if s.many() { // of one host there is none
			whole.of = "all hosts"
		}
		drawHeatmap(c, &whole)
	case panePartitions:
		drawPartitions(c, s)
	case paneBrokers:
		drawBrokers(c, s)
	case paneClient:
		drawClient(c, s)
	case paneEvents:
		drawEvents(c, s)
	case paneHosts:
		drawHosts(c, s)
	}
}

// frame draws the whole screen: exactly h lines of exactly w cells.
func frame(s *scene, th *theme.Theme, w, h int) string {
	c := chart.New(w, h, th)
	eventful := len(s.events) > 0 || s.many() && s.goingOn() != "" // a run on this host says a silence where it says the limit
	l := layout(w, h, needs{
		zoom: s.zoom, notice: s.header.Notice != "", events: eventful, news: s.news(), brokers: len(s.Brokers),
		hosts: len(s.hosts), gathering: s.gathering(), one: s.one, chart: s.chart,
	})
	s.flat = l.flat
	if l.tiny {
		drawTiny(place(c, l.header), s)
	} else {
		drawHeader(place(c, l.header), s)
	}
	if l.banner.h > 0 {
		drawBanner(place(c, l.banner), s.header.Notice)
	}
	if l.limit.h > 0 {
		s.limitLine(c, l.limit.w-2).draw(c, 1, l.limit.y)
	}
	for _, p := range l.panes {
		drawPane(place(c, p.rect), p.pane, s)
	}
	if l.events.h > 0 {
		s.eventLine(c).draw(c, 1, l.events.y)
	}
	if l.footer.h > 0 {
		drawFooter(place(c, l.footer), s)
	}
	if s.help && !l.tiny {
		drawHelp(c, s)
	}
	return c.String()
}

func place(c chart.Canvas, r rect) chart.Canvas { return c.Sub(r.x, r.y, r.w, r.h) }
