package security

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/keytab"

	"github.com/kt-bench/kt/internal/secret"
)

// silent is the address of a server that takes connections and packets, and answers none.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	packets, err := net.ListenPacket("udp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = packets.Close() })
	return l.Addr().String()
}

func TestAKDCThatDoesNotAnswerIsNamedInTime(t *testing.T) {
	dir, kdc := t.TempDir(), silent(t)
	conf, keys := filepath.Join(dir, "krb5.conf"), filepath.Join(dir, "kt.keytab")
	tab := keytab.New()
	if err := tab.AddEntry("kt", "TEST", "hunter2", time.Now(), 1, etypeID.AES256_CTS_HMAC_SHA1_96); err != nil {
		t.Fatal(err)
	}
	data, err := tab.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	text := "[libdefaults]\n default_realm = TEST\n[realms]\n TEST = {\n  kdc = " + kdc + "\n }\n"
	for path, data := range map[string][]byte{conf: []byte(text), keys: data} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l := &kerberosLogin{conf: conf, principal: "kt@TEST", keytab: keys, within: 50 * time.Millisecond}
	began := time.Now()
	_, _, err = l.mechanism("kafka").Authenticate(t.Context(), "127.0.0.1:9092")
	if took := time.Since(began); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("no KDC answers within 50ms (%s): check the KDC in %s", kdc, conf)) || took > loginTime {
		t.Errorf("%v after %s", err, took)
	}
}

func TestSeveralKDCsHaveMoreTime(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "krb5.conf")
	for kdcs, want := range map[int]time.Duration{1: 5 * time.Second, 2: 14 * time.Second, 9: 14 * time.Second} {
		text := "[libdefaults]\n default_realm = TEST\n[realms]\n TEST = {\n" + strings.Repeat("  kdc = b1:88\n", kdcs) + " }\n"
		if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, _ := (&kerberosLogin{conf: conf, within: loginTime}).limit(); got != want {
			t.Errorf("%d: %s, want %s", kdcs, got, want)
		}
	}
}

// A load that starts waits for its first token as long as for a broker. One that runs asks for another token with more patience.
func TestTheFirstTokenIsWaitedForAShortTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := false
		kept := &tokens{window: 0.5, first: loginTime, ask: func(ctx context.Context) (secret.Text, error) {
			if !down {
				return secret.New(jwt(1, time.Now().Add(10*time.Second))), nil
			}
			return again(ctx, time.Second, 30*time.Second, func(context.Context) (secret.Text, bool, error) {
				return secret.Text{}, true, tokenError("connection refused")
			})
		}}
		ask := func(want time.Duration) {
			t.Helper()
			began := time.Now()
			_, err := kept.current(t.Context(), began)
			if took := time.Since(began); took > want || took < want/2 || down && (err == nil || !strings.Contains(err.Error(), "connection refused")) {
				t.Errorf("%v after %s, want %s", err, took, want)
			}
		}
		down = true
		ask(loginTime)
		down = false
		ask(0)
		down = true
		time.Sleep(time.Minute)
		ask(30 * time.Second)
	})
}
