package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/secret"
	"github.com/kt-bench/kt/internal/study"
)

// offered returns an offer that agents accept: for the second of three hosts, with two processes.
func offered(t *testing.T) *offer {
	t.Helper()
	w := &world{t: t, hosts: map[string]*testHost{}}
	o := w.order(nil)
	for _, n := range []string{"a", "b", "c"} {
		o.Load = append(o.Load, Peer{Info: Info{Name: n}})
	}
	o.Producer = map[string]plan.Given{"acks": {Value: "all", Source: "--command-property"}}
	hosts := must.Have(o.remotes(nil))(t)
	return &hosts[1].offer
}

// only are the limits of an agent whose credentials are bound to an address.
func only(addr string) Limits { return Limits{Broker: secret.Bind([]string{addr}).Permit} }

func TestWhatALoadMayAskForIsDecidedByTheHost(t *testing.T) {
	set := func(name, value string) func(*offer) {
		return func(o *offer) { o.Producer[name] = plan.Given{Value: value} }
	}
	for _, tc := range []struct {
		name   string
		limits Limits
		change func(*offer)
		want   string // "" : it is accepted
	}{
		{"a fair offer", Limits{}, nil, ""},
		{"a rate that is just the limit", Limits{Rate: 400}, nil, ""},
		{"a rate above the limit", Limits{Rate: 399.9}, nil, "--max-rate 400: this host's share is 400 records/s"},
		{"no rate where there is a limit", Limits{Rate: 1e9}, func(o *offer) { o.Plan.Load.Rate = plan.Unlimited }, "--max-rate 1000000000: the load has no --rate"},
		{"bytes that are just the limit", Limits{BytesPerSecond: 40_000}, nil, ""},
		{"bytes above the limit", Limits{BytesPerSecond: 39_999}, nil, "--max-rate 39999 B/s: this host's share is 40000 B/s"},
		{"no rate where there is a limit of bytes", Limits{BytesPerSecond: 1}, func(o *offer) { o.Plan.Load.Rate = plan.Unlimited }, "--max-rate 1 B/s: the load has no --rate"},
		{"as many producers as allowed", Limits{Producers: 4}, nil, ""},
		{"more producers than allowed", Limits{Producers: 3}, nil, "--max-producers 3: this host's share is 4 producers"},
		{"a topic that matches", Limits{Topic: regexp.MustCompile(`t|u`)}, nil, ""},
		{"a topic that matches in part", Limits{Topic: regexp.MustCompile(`t`)}, func(o *offer) { o.Plan.Topic.Name = "prod-t" }, "--allow-topic t: the topic is prod-t"},
		{"several topics that match", Limits{Topic: regexp.MustCompile(`t-\d`)}, func(o *offer) { o.Plan.Topic.Name = "t-{0..9}" }, ""},
		{"a topic of several that does not match", Limits{Topic: regexp.MustCompile(`t-\d`)}, func(o *offer) { o.Plan.Topic.Name = "t-{0..10}" }, `--allow-topic t-\d: the topic is t-10`},
		{"more topics than a plan may have", Limits{}, func(o *offer) { o.Plan.Topic.Name = "t-{0..100000}" }, "it means more than 100000 topics"},
		{"a topic that matches one of two in part", Limits{Topic: regexp.MustCompile(`t|u`)}, func(o *offer) { o.Plan.Topic.Name = "unit" }, "--allow-topic t|u: the topic is unit"},
		{"a duration that is just the limit", Limits{Duration: 5 * time.Second}, nil, ""},
		{"a longer one", Limits{Duration: 5*time.Second - 1}, nil, "--max-duration 4.999999999s: the load lasts 5s"},
		{"a number of records that takes longer", Limits{Duration: time.Minute}, func(o *offer) {
			o.Plan.Load.Duration, o.Plan.Load.Records = 0, 1200*60+1
		}, "--max-duration 1m0s: the load lasts"},
		{"a number of records at no rate, which is stopped in time", Limits{Duration: time.Hour}, func(o *offer) {
			o.Plan.Load.Duration, o.Plan.Load.Records, o.Plan.Load.Rate = 0, 1, plan.Unlimited
		}, ""},
		{"a broker of the credentials", only("kafka:9092"), func(o *offer) { o.Plan.Bootstrap = []string{"kafka:9092"} }, ""},
		{"another broker", only("kafka:9092"), func(o *offer) { o.Plan.Bootstrap = []string{"kafka:9092", "evil:9092"} }, `no log-in at "evil:9092"`},
		{"another system", only("kafka:9092"), func(o *offer) { o.Plan.Bootstrap, o.Plan.URL = nil, "amqp://user@evil/" }, `no log-in at "evil:5672"`},
		{"another admin API", only("kafka"), func(o *offer) { o.Plan.Bootstrap, o.Plan.URL = nil, "pulsar://kafka?admin=http://evil" }, `no log-in at "evil:80"`},
		{"a command that makes no load", Limits{}, func(o *offer) { o.Plan.Command = plan.MixedLoad }, `command "mixed": it makes no load`},
		{"no end", Limits{}, func(o *offer) { o.Plan.Load.Duration = 0 }, "the load has no end of its own"},
		{"the broker inside kt", Limits{}, func(o *offer) { o.Plan.Bootstrap = nil }, "--bootstrap-server: it is needed"},
		{"an address with an escape sequence", Limits{}, func(o *offer) { o.Plan.Bootstrap = []string{"a\x1b[2J:1"} }, "it is no address"},
		{"a file of payloads", Limits{}, func(o *offer) { o.Plan.Payload.Kind, o.Plan.Payload.File = plan.File, "/etc/passwd" }, "--payload-file"},
		{"a file of payloads without its kind", Limits{}, func(o *offer) { o.Plan.Payload.File = "/etc/passwd" }, "--payload-file"},
		{"a template of payloads", Limits{}, func(o *offer) { o.Plan.Payload.Kind = plan.Template }, "--payload-template"},
		{"a delimiter of payloads", Limits{}, func(o *offer) { o.Plan.Payload.Delimiter = "," }, "--payload-file"},
		{"a mean size of payloads that is made up", Limits{}, func(o *offer) { o.Plan.Payload.FileMean = 1e-9 }, "--payload-file"},
		{"a ledger", Limits{}, func(o *offer) { o.Plan.Verify = true }, "--verify"},
		{"a plan that is wrong by itself", Limits{}, func(o *offer) { o.Plan.Topic.Name = "../../etc" }, "--topic"},
		{"a share that is no part of a load", Limits{}, func(o *offer) { o.Shares[1].Share.Producer = 99 }, "it is no part of a load"},
		{"no share", Limits{}, func(o *offer) { o.Shares[1].Share = plan.Share{} }, "the plan is no share of a load"},
		{"more producers than the share has", Limits{}, func(o *offer) { o.Shares[1].Producers = 1000 }, "it is no part of a load"},
		{"a trust store", Limits{}, set("ssl.truststore.location", "x"), `property "ssl.truststore.location": agents do not take it from other hosts`},
		{"a trust store in capitals", Limits{}, set("SSL.TRUSTSTORE.LOCATION", "x"), "agents do not take it"},
		{"a JAAS configuration", Limits{}, set("sasl.jaas.config", "x"), "agents do not take it"},
		{"the same of a listener", Limits{}, set("listener.name.x.sasl.jaas.config", "x"), "agents do not take it"},
		{"a keytab", Limits{}, set("sasl.kerberos.keytab", "x"), "agents do not take it"},
		{"a program", Limits{}, set("sasl.kerberos.kinit.cmd", "/bin/sh"), "agents do not take it"},
		{"a provider of values", Limits{}, set("config.providers.file.class", "x"), "agents do not take it"},
		{"a value that stands for one in a file", Limits{}, set("client.id", "${file:/etc/secret:x}"), "its value names a file"},
		{"a value that is a file's address", Limits{}, set("client.id", " FILE:///etc/passwd"), "its value names a file"},
		{"a property that no deny-list has", Limits{}, set("ssl.engine.factory.class", "x"), "agents do not take it"},
		{"one that kt does not know", Limits{}, set("acks2", "x"), "agents do not take it"},
		{"a property of the consumers", Limits{}, func(o *offer) { o.Consumer = map[string]plan.Given{"ssl.keystore.location": {}} }, "agents do not take it"},
		{"a property with an escape sequence for a name", Limits{}, set("acks\x1b[2J", "1"), `property "acks?[2J": agents do not take it`},
		{"a pattern of topics where some are allowed", Limits{Topic: regexp.MustCompile(`t`)}, consumes("t.*"), "--allow-topic t: a pattern of topics may match others"},
		{"a pattern of topics", Limits{}, consumes("t.*"), ""},
		{"reading without an end", Limits{}, func(o *offer) { consumes("t")(o); o.Plan.Read.ToEnd = false }, "the load has no end of its own"},
		{"more consumers in groups than allowed", Limits{Producers: 3}, func(o *offer) {
			consumes("t")(o)
			o.Plan.Read.Groups, o.Plan.Read.Group = 2, "g"
		}, "--max-producers 3: this host's share is 4 producers and consumers"},
		{"a host that is only watched", Limits{Rate: 1}, func(o *offer) { o.Shares, o.Plan = nil, plan.Plan{} }, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := offered(t)
			if tc.change != nil {
				tc.change(o)
			}
			must.Do(t, o.check())
			must.Err(t, tc.want, tc.limits.allow(o), "allow")
		})
	}
}

// consumes turns an offer into one of a load that reads.
func consumes(include string) func(*offer) {
	return func(o *offer) {
		o.Plan = plan.Plan{
			Command: plan.Consume, Engine: plan.Client, Bootstrap: o.Plan.Bootstrap, Seed: 1,
			Load: plan.Load{Arrivals: plan.Uniform}, Read: plan.Read{Include: include, ToEnd: true, Commit: plan.CommitNone},
		}
		for i := range o.Shares {
			o.Shares[i] = jobShare{Consumers: 1, Share: plan.Share{Consumer: 2 + i, Consumers: 6}}
		}
	}
}

func TestAnOfferHasKnownFieldsOnly(t *testing.T) {
	good := must.Have(json.Marshal(offered(t)))(t)
	must.Do(t, decodeBody(bytes.NewReader(good), maxOffer, new(offer)))
	for name, tc := range map[string][2]string{
		"a command in the offer":          {`{`, `{"exec":"rm -rf /",`},
		"a command in the plan":           {`"plan":{`, `"plan":{"exec":[{"at":"1s","command":"true"}],`},
		"a path in the offer":             {`{`, `{"run_file":"/etc/cron.d/x",`},
		"a path in a share":               {`"shares":[{`, `"shares":[{"run_file":"/x",`},
		"a ledger in the plan":            {`"plan":{`, `"plan":{"ledger":"/x",`},
		"an environment":                  {`{`, `{"environment":["LD_PRELOAD=x"],`},
		"something behind the message":    {"", "{}"},
		"a host whose name is a path":     {`"host":"b","process"`, `"host":"../b","process"`},
		"an epoch that is a path":         {`"epoch":"`, `"epoch":"/`},
		"an epoch with a sequence":        {`"epoch":"`, `"epoch":"\u001b[2J`},
		"a run that is a path":            {`"run":"nightly"`, `"run":"../../x"`},
		"a load that lasted before it":    {`"lasts_ns":`, `"lasts_ns":-`},
		"a process in the place of hosts": {`"process":0`, `"process":1`},
	} {
		t.Run(name, func(t *testing.T) {
			bad := strings.Replace(string(good), tc[0], tc[1], 1)
			if tc[0] == "" {
				bad = string(good) + tc[1]
			}
			must.Hold(t, bad != string(good), "%s has no %s", good, tc[0])
			err := decodeBody(strings.NewReader(bad), maxOffer, new(offer))
			must.True(t, err != nil, "it is accepted: %s", bad)
		})
	}
}

func TestTheOfferInTheDocumentIsAccepted(t *testing.T) {
	page := must.Have(os.ReadFile("../../docs/agent-api.md"))(t)
	_, text, _ := strings.Cut(string(page), "## An offer\n\n```json\n")
	text, _, _ = strings.Cut(text, "```")
	o := new(offer)
	must.Do(t, decodeBody(strings.NewReader(text), maxOffer, o))
	must.Do(t, (&Limits{Rate: 100, Duration: 5 * time.Second}).allow(o))
	const want = "--max-rate 99: this host's share is 100 records/s\n--max-duration 4s: the load lasts 5s"
	must.Match(t, want, fmt.Sprint((&Limits{Rate: 99, Duration: 4 * time.Second}).allow(o)), "allow")
}

// shelf returns a store with one run file of another command.
func shelf(t *testing.T) (s *store, path string) {
	t.Helper()
	shared := t.TempDir()
	s = must.Have(openStore(t.Context(), t.TempDir(), shared, 0, time.Now))(t)
	t.Cleanup(func() { _ = s.root.Close() })
	path = filepath.Join(shared, "1.ktr")
	leave(t, path, "R1", &result.Part{Run: "n", Host: "vm1", Process: 1}, 1000)
	return s, path
}

func TestAFileThatWasListedIsFoundWithoutALookAtAllOthers(t *testing.T) {
	s, path := shelf(t)
	must.Have(s.list("n"))(t)
	leave(t, filepath.Join(s.shared, "2.ktr"), "R2", &result.Part{Run: "n", Host: "vm1", Process: 2}, 1)
	f, err := s.find("R1")
	must.Hold(t, err == nil && filepath.Base(f.Name()) == filepath.Base(path), "found %v, %v", f, err)
	_ = f.Close()
	must.Match(t, 1, len(s.known), "the others were looked at")
	_ = must.Have(s.find("R2"))(t).Close() // it is newer than the listing
	must.Err(t, "there is no run file R3", must.Fail(s.find("R3")), "the error")
}

// FuzzReadHeader checks that the names in a header can be parts of file names, for every file.
func FuzzReadHeader(f *testing.F) {
	f.Add(string(canned.Packed(`{"header":{"run_id":"R","started_at":"2026-01-01T00:00:00Z","part":{"run":"n","host":"vm1","process":1}}}`)))
	f.Add(string(canned.Packed(`{"header":{"run_id":"../R","part":{"run":"n","host":"vm1"}}}`)))
	f.Add(string(canned.Packed(`{"header":{"run_id":"R","part":{"run":"n","epoch":"/","host":"vm1"}}}`)))
	f.Add(string(canned.Packed(`{"header":{"part":null}}`)))
	f.Add(`{"collection":{"schema":2}}` + "\n")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		h := entryOf(result.FirstLine(strings.NewReader(text)))
		if h == nil {
			return
		}
		for _, name := range []string{h.RunID, h.Run, h.Host, "E" + h.Epoch} {
			must.True(t, filepath.Base(name) == name && len(name) <= 65, "it is called %q", name)
		}
		must.True(t, h.Process >= 0, "%q is taken as %+v", text, h)
	})
}

func TestSettingsAreChangedWhereTheAgentMayAndNowhereElse(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		var got []study.HostOrder
		refusal, found := errors.New("the value is too large"), []study.HostFinding{{ID: "vm.swappiness", Group: "memory", About: "swapping", State: study.Proposed}}
		w.add("a", RoleBroker)
		w.add("b", RoleBroker, func(o *AgentOptions) {
			o.Tune = func(_ context.Context, order *study.HostOrder) error {
				if got = append(got, *order); order.Do == study.CheckHost {
					return refusal
				}
				if order.Found = nil; order.Do == study.LookAtHost {
					order.Found = found
				}
				return nil
			}
		})
		peers := w.peers("a", "b")
		order := study.HostOrder{Do: study.SetHost, Study: "s1", Set: []study.Flag{{Name: "sysctl.vm.swappiness", Value: "1"}}}
		if _, err := w.client().Tune(t.Context(), peers[0], order); err == nil || !strings.Contains(err.Error(), "a: ") || !strings.Contains(err.Error(), "--allow-tune") || strings.Contains(err.Error(), "--rollback") {
			t.Errorf("an agent that may not change settings says %v", err)
		}
		must.Have(w.client().Tune(t.Context(), peers[1], order))(t)
		check, look := study.HostOrder{Do: study.CheckHost, Study: "s1"}, study.HostOrder{Do: study.LookAtHost, Study: "look"}
		must.Err(t, refusal.Error(), must.Fail(w.client().Tune(t.Context(), peers[1], check)), "a refusal")
		must.Match(t, found, must.Have(w.client().Tune(t.Context(), peers[1], look))(t), "what the host finds")
		must.Match(t, []study.HostOrder{order, check, look}, got, "the host got")
		found[0].About = "swapping\x1b[2J"
		cleaned := must.Have(w.client().Tune(t.Context(), peers[1], look))(t)
		must.True(t, len(cleaned) == 1 && strings.HasPrefix(cleaned[0].About, "swapping") && !strings.Contains(cleaned[0].About, "\x1b"), "a text for a terminal: %q", cleaned)
	})
}

func TestRefusedSettingsFillNoLog(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		a := w.add("a", RoleBroker)
		var noted []string
		a.agent.note = func(_, text string) { noted = append(noted, text) }
		order := study.HostOrder{Do: study.SetHost, Study: "s1"}
		for range 30 {
			order.Set = append(order.Set, study.Flag{Name: "sysctl.vm.swappiness", Value: strings.Repeat("1", maxText)})
		}
		for range 3 {
			_, err := w.client().Tune(t.Context(), w.peers("a")[0], order)
			must.True(t, err != nil, "the settings are changed")
		}
		must.True(t, len(w.logs) == 0 && len(noted) == 3 && len(noted[0]) <= 2*maxText,
			"%d lines are logged as they come, and %d as lines about a peer", len(w.logs), len(noted))
	})
}
