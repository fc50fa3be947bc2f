package cmd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/cluster"
	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
)

// FuzzOrder reads what an agent may say to a process. Whatever comes, it is an order of
// bounded length or an error, and what follows the line is left for the next order.
func FuzzOrder(f *testing.F) {
	f.Add([]byte(`{"job":{"part":{"run":"r","host":"h","process":1},"plan":{"command":"produce"},"command_line":[],"run_file":"x"}}` + "\n{}\n"))
	f.Add([]byte(`{"start":{"at":"2026-01-31T15:04:05Z","agreed":{"at":"2026-01-31T15:04:05Z"}}}` + "\n"))
	f.Add([]byte("{\"stop\":true}\n"))
	f.Add([]byte("no order\n"))
	f.Add(bytes.Repeat([]byte("x"), 100_000))
	f.Fuzz(func(t *testing.T, data []byte) {
		in := bufio.NewReader(bytes.NewReader(data))
		if _, err := readOrder(in); err != nil {
			return
		}
		rest := must.Have(io.ReadAll(in))(t)
		_, want, _ := bytes.Cut(data, []byte("\n"))
		if !bytes.Equal(rest, want) {
			t.Errorf("%q is left of %q", rest, data)
		}
	})
}

func TestAnOrderThatIsTooLongIsAnError(t *testing.T) {
	in := bufio.NewReader(strings.NewReader(strings.Repeat(" ", longestOrder+100_000) + "{}\n"))
	if m, err := readOrder(in); err == nil {
		t.Errorf("%+v", m)
	}
}

// stopping stops a process as soon as it says anything.
type stopping struct{ stop *stopper }

func (s stopping) Write(b []byte) (int, error) {
	s.stop.stop(nil)
	return len(b), nil
}

func TestAProcessThatIsStoppedWhenItHasBegunDrains(t *testing.T) {
	aborted := false
	stop := newStopper(func() { aborted = true }, func(int) {}, func(string) {})
	p := &part{out: json.NewEncoder(stopping{stop})}
	if p.began(stop, time.Now()); aborted || stop.code() != exitOK {
		t.Errorf("aborted %v, code %d", aborted, stop.code())
	}
	select {
	case <-stop.asked:
	default:
		t.Error("it was not stopped")
	}
}

func TestAProcessWhoseAgentIsGoneEndsWhenItsTimeIsUp(t *testing.T) {
	const most = time.Minute
	const start = `{"start":{"at":"2000-01-01T00:00:10Z","agreed":{"at":"2000-01-01T00:00:10Z"}}}` + "\n" // 10 s from now
	for _, tc := range []struct {
		name    string
		said    string
		most    time.Duration
		drained time.Duration // after it was told to stop; 0: it hangs
		asked   time.Duration // when; 0: never
		aborted time.Duration
		exited  time.Duration
	}{
		{"it hangs", start, most, 0, 10*time.Second + most, 10*time.Second + most + aloneGrace, 10*time.Second + most + aloneGrace + lastResort},
		{"it drains", start, most, time.Second, 10*time.Second + most, 0, 0},
		{"it hangs after a stop", start + `{"stop":true}` + "\n", most, 0, 1, 10*time.Second + most, 10*time.Second + most + lastResort},
		{"nobody knows how long it lasts", start, 0, 0, 0, 0, 0},
		{"it has not begun", "", most, 0, 0, 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var aborted, exited, asked time.Duration
				ctx, abort := context.WithCancel(t.Context())
				stop := newStopper(func() { aborted = time.Since(began); abort() }, func(int) { exited = time.Since(began) }, func(string) {})
				stop.begin()
				p := &part{start: make(chan cluster.StartOrder, 1), gone: make(chan struct{})}
				p.job.Most = tc.most
				go func() {
					select {
					case <-stop.asked:
						asked = max(time.Since(began), 1)
					case <-ctx.Done():
						return
					}
					if tc.drained > 0 {
						<-time.After(tc.drained)
						abort()
					}
				}()
				go p.listen(ctx, bufio.NewReader(strings.NewReader(tc.said)), stop)
				<-p.gone
				<-time.After(time.Hour)
				abort()
				synctest.Wait()
				if asked != tc.asked || aborted != tc.aborted || exited != tc.exited {
					t.Errorf("it was asked to end after %v, told to leave after %v, and left after %v; want %v, %v, %v", asked, aborted, exited, tc.asked, tc.aborted, tc.exited)
				}
			})
		})
	}
}

func TestAgentsOfOneHomeHaveFoldersOfTheirOwn(t *testing.T) {
	env := &Env{HomeDir: "/home/kt", Getenv: func(string) string { return "" }}
	one, shared := must.Both(agentDirs(env, "", "vm1"))(t)
	two, sharedToo, _ := agentDirs(env, "", "vm2")
	if filepath.Base(one) != "vm1" || filepath.Base(two) != "vm2" || filepath.Dir(one) != filepath.Dir(two) || shared != sharedToo {
		t.Errorf("folders %s and %s, of others %s and %s", one, two, shared, sharedToo)
	}
	if dir, _, err := agentDirs(env, "/var/kt", "vm1"); err != nil || dir != "/var/kt" {
		t.Errorf("one that was asked for is %s, %v", dir, err)
	}
}

func TestAProcessThatIsLostCountsInTheNumberOfParts(t *testing.T) {
	res := result.Result{Processes: make([]result.ProcessRow, 4)}
	res.Processes[1].Counted = true
	lost := cluster.ProcessError{Host: "vm1", Ended: cluster.Ended{Code: exitFailed, Text: "its processes are gone"}, Lost: true}
	if err := judgeParts(&res, &lost); exitCode(err) != exitFailed || !strings.HasPrefix(err.Error(), "3 of 4 parts are left out") {
		t.Errorf("it ends with %v", err)
	}
	late := cluster.ProcessError{Host: "vm2", Ended: cluster.Ended{Code: exitNotValid, Text: "late"}}
	if err := judgeParts(&res, &late); exitCode(err) != exitNotValid || err.Error() != "vm2: late" {
		t.Errorf("with a worse one it ends with %v", err)
	}
}

func TestWhatAnAgentTellsOfItsConnectionsIsTrueOrLeftOut(t *testing.T) {
	for text, want := range map[string]string{
		"security.protocol=SSL\n":                     "SSL",
		"url.password=geheim\n":                       "", // of RabbitMQ or Pulsar, by the URL of each load
		"ssl.truststore.type=PEM\nurl.password=x\n":   "",
		"client.id=no property of security\nacks=1\n": "PLAINTEXT",
	} {
		path := filepath.Join(t.TempDir(), "client.properties")
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		env := &Env{Getenv: func(string) string { return "" }, Stderr: io.Discard}
		if got, _, err := agentSecurity(env, &config.Agent{CommandConfig: path, AllowBroker: []string{"b"}}); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
}
