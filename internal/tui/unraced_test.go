//go:build !race

package tui

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/theme"
)

// These tests are long and of one goroutine: the race detector would find nothing.

func TestEveryFrameFillsItsTerminalExactly(t *testing.T) {
	sizes := []size{{20, 2}, {40, 2}, {40, 5}, {40, 8}, {49, 15}, {60, 15}, {80, 24}, {100, 30}, {120, 30}, {120, 36}, {200, 60}, {1, 1}, {300, 17}, {61, 90}}
	kept := map[string]bool{}
	for i, base := range models() {
		state := states[i]
		for _, look := range looks {
			base.options.Theme = theme.New(look.options)
			for i, size := range sizes {
				if look.name != "plain" && i%3 > 0 && !strings.Contains(state.keep, size.String()) { // layouts do not depend on the look
					continue
				}
				frame := send(base, tea.WindowSizeMsg{Width: size.w, Height: size.h}).frame()
				name := fmt.Sprintf("%s %v %s", state.name, size, look.name)
				checkFrame(t, name, look.options, frame, size.w, size.h)
				if size.w == 120 && size.h == 36 && look.name == "plain" {
					checkWords(t, name, frame, state.says)
				}
				if strings.Contains(" "+state.keep+" ", fmt.Sprintf(" %v/%s ", size, look.name)) {
					file := strings.ReplaceAll(name, " ", "_") + ".txt"
					kept[file] = true
					golden(t, file, frame)
				}
			}
		}
	}
	checkNoOthers(t, kept)
}

// checkWords looks for all that a frame must say.
func checkWords(t *testing.T, name, frame, says string) {
	t.Helper()
	for _, want := range strings.Split(says, "; ") {
		must.Has(t, name, frame, want)
	}
}

// No size of the terminal may cause a panic or a torn frame, whatever is shown.
func FuzzSize(f *testing.F) {
	models := models()
	for _, s := range []size{{0, 0}, {1, 1}, {20, 2}, {59, 16}, {60, 15}, {60, 16}, {80, 24}, {99, 29}, {120, 36}, {255, 70}} {
		f.Add(uint8(s.w), uint8(s.h), uint8(s.w), uint8(s.h))
	}
	f.Fuzz(func(t *testing.T, w, h, state, look uint8) {
		m := models[int(state)%len(models)]
		options := looks[int(look)%len(looks)].options
		m.options.Theme = theme.New(options)
		frame := send(m, tea.WindowSizeMsg{Width: int(w), Height: int(h)}).frame()
		if h == 0 {
			must.Match(t, "", frame, "on no line there")
			return
		}
		checkFrame(t, fmt.Sprintf("state %d %dx%d", state, w, h), options, frame, int(w), int(h))
	})
}
