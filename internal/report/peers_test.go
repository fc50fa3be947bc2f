package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/charmbracelet/colorprofile"

	"github.com/kt-bench/kt/internal/theme"
)

// textOf is a summary that is written into a buffer.
func textOf(o theme.Options) (text, *bytes.Buffer) {
	var b bytes.Buffer
	return newText(&b, theme.New(o), 0), &b
}

func peers() []PeerRow {
	return []PeerRow{
		{
			Name: "vm15", Security: "SASL_SSL SCRAM-SHA-512", Address: "10.0.0.15:7946", Role: "client", Tags: []string{"clients", "rack-a"}, Version: "1.2.3", State: "running", Run: "nightly", Results: 3,
			CPU: 3.98, Cores: 8, Memory: 32 << 30, Free: 20 << 30, ClockKnown: true, Offset: 300 * time.Microsecond, Bound: 100 * time.Microsecond,
		},
		{
			Name: "vm14", Address: "10.0.0.14:7946", Role: "broker", Version: "1.2.3", State: "idle",
			CPU: 0.4, Cores: 16, Memory: 64 << 30, Free: 43 << 30, ClockKnown: true, Offset: -5 * time.Second, Bound: 80 * time.Microsecond,
		},
		{
			Name: "ip-10-120-13-45.eu-central-1.compute.internal", Address: "10.120.13.45:7946", Role: "client", Version: "1.1.0", State: "away",
			Problem: "it speaks version 1 of the stream, and this kt version 2: use the same kt on all hosts",
		},
	}
}

func TestPeersAreWhatTheGoldenFilesShow(t *testing.T) {
	for look, o := range map[string]theme.Options{"plain": {}, "color": {Profile: colorprofile.TrueColor, Dark: true}, "ascii": {ASCII: true}} {
		var b bytes.Buffer
		if err := Peers(&b, peers(), Options{Theme: theme.New(o)}); err != nil {
			t.Fatal(err)
		}
		golden(t, "peers/"+look+".txt", b.String())
	}
	var b bytes.Buffer
	if err := PeersJSON(&b, peers()); err != nil {
		t.Fatal(err)
	}
	golden(t, "peers/peers.json", b.String())
}

func TestNobodyThereIsSaid(t *testing.T) {
	var b bytes.Buffer
	if err := Peers(&b, nil, Options{}); err != nil || !strings.Contains(b.String(), "nobody is there") {
		t.Errorf("gives %q, %v", b.String(), err)
	}
	b.Reset()
	if err := PeersJSON(&b, nil); err != nil || !strings.Contains(b.String(), `"peers": []`) {
		t.Errorf("gives %q, %v", b.String(), err)
	}
}

func TestWhatIsNotKnownOfAPeerIsNotZero(t *testing.T) {
	var b bytes.Buffer
	if err := PeersJSON(&b, []PeerRow{{Name: "vm15"}}); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Peers []map[string]any `json:"peers"`
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cpu_cores", "cores", "memory_bytes", "available_bytes", "clock_offset_us", "clock_bound_us"} {
		if v, ok := doc.Peers[0][name]; !ok || v != nil {
			t.Errorf("%s is %v, there: %t", name, v, ok)
		}
	}
}

func TestWhatIsNotKnownOfAPeerIsNotBlank(t *testing.T) {
	var b bytes.Buffer
	if err := Peers(&b, []PeerRow{{Name: "vm15", Address: "a:1", Role: "client", State: "away"}}, Options{}); err != nil {
		t.Fatal(err)
	}
	if want := "vm15 a:1 client – – away – – – – 0"; !strings.Contains(oneSpace(b.String()), want) {
		t.Errorf("%q is not in:\n%s", want, b.String())
	}
}

func TestAPeersOwnWordsCannotMoveTheCursor(t *testing.T) {
	var b bytes.Buffer
	p := PeerRow{Name: hostile, Address: hostile, Role: hostile, Tags: []string{hostile}, Version: hostile, State: hostile, Run: hostile, Problem: hostile}
	if err := Peers(&b, []PeerRow{p}, Options{}); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsFunc(b.String(), func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
		t.Errorf("got %q", b.String())
	}
}

func TestPeersPassOnThatTheyCannotBeWritten(t *testing.T) {
	full := errors.New("no space left on device")
	if err := Peers(failing{full}, peers(), Options{}); !errors.Is(err, full) {
		t.Errorf("text gives %v", err)
	}
	if err := PeersJSON(failing{full}, peers()); !errors.Is(err, full) {
		t.Errorf("JSON gives %v", err)
	}
}
