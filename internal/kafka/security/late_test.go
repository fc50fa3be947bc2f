package security

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/secret"
)

// kdc starts a KDC that takes packets and answers none, as behind a firewall. answer serves a connection. It returns a log-in
// at that KDC and its address. defaults are lines of krb5.conf.
func kdc(t *testing.T, defaults string, answer func(net.Conn)) (l *kerberosLogin, addr string) {
	t.Helper()
	tcp := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
	udp := must.Have(net.ListenPacket("udp", tcp.Addr().String()))(t)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := tcp.Accept()
			if err != nil {
				return
			}
			answer(conn)
			_ = conn.Close() // the answer is on its way
		}
	})
	t.Cleanup(func() {
		_, _ = tcp.Close(), udp.Close() // nothing was written
		serving.Wait()
	})
	dir := t.TempDir()
	l = &kerberosLogin{conf: filepath.Join(dir, "krb5.conf"), principal: "kt@TEST", keytab: filepath.Join(dir, "kt.keytab"), within: loginTime}
	tab := keytab.New()
	must.Do(t, tab.AddEntry("kt", "TEST", "hunter2", time.Now(), 1, etypeID.AES256_CTS_HMAC_SHA1_96))
	data := must.Have(tab.Marshal())(t)
	text := "[libdefaults]\n default_realm = TEST\n" + defaults + "[realms]\n TEST = {\n  kdc = " + tcp.Addr().String() + "\n }\n"
	for path, data := range map[string][]byte{l.conf: []byte(text), l.keytab: data} {
		must.Do(t, os.WriteFile(path, data, 0o600))
	}
	return l, tcp.Addr().String()
}

// refuse answers a request as a KDC does that does not know the principal.
func refuse(conn net.Conn) {
	refusal := messages.NewKRBError(types.NewPrincipalName(2, "krbtgt/TEST"), "TEST", errorcode.KDC_ERR_C_PRINCIPAL_UNKNOWN, "")
	data, err := refusal.Marshal()
	if err != nil {
		return
	}
	size := make([]byte, 4)
	if _, err := io.ReadFull(conn, size); err != nil {
		return
	}
	if _, err := io.CopyN(io.Discard, conn, int64(binary.BigEndian.Uint32(size))); err != nil {
		return
	}
	_, _ = conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...)) // without it the log-in fails otherwise
}

func TestAKDCThatAnswersOnlyByTCPIsHeard(t *testing.T) {
	l, _ := kdc(t, "", refuse)
	_, _, err := l.mechanism("kafka").Authenticate(t.Context(), "127.0.0.1:9092")
	if err == nil || !strings.Contains(err.Error(), "KDC_ERR_C_PRINCIPAL_UNKNOWN") {
		t.Errorf("%v, want the error of the KDC", err)
	}
}

func TestKrb5ConfSaysWhatIsSentByUDP(t *testing.T) {
	for text, want := range map[string]int{"": 0, " udp_preference_limit = 1\n": 1, " udp_preference_limit = 4000\n": 4000} {
		path := filepath.Join(t.TempDir(), "krb5.conf")
		must.Do(t, os.WriteFile(path, []byte("[libdefaults]\n default_realm = TEST\n"+text), 0o600))
		conf, err := (&kerberosLogin{conf: path}).read()
		if err != nil || conf.LibDefaults.UDPPreferenceLimit != want {
			t.Errorf("%q: %d, %v; want %d", text, conf.LibDefaults.UDPPreferenceLimit, err, want)
		}
	}
}

func TestALogInEndsWithItsTimeOrItsCaller(t *testing.T) {
	asked, over := make(chan struct{}, 10), make(chan struct{})
	l, addr := kdc(t, " udp_preference_limit = 1\n", func(net.Conn) { asked <- struct{}{}; <-over })
	defer close(over) // the library gives up then, because it does not try UDP
	interrupted := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { <-asked; cancel(interrupted) }()
	if _, _, err := l.mechanism("kafka").Authenticate(ctx, "127.0.0.1:9092"); !errors.Is(err, interrupted) {
		t.Errorf("%v, want %v", err, interrupted)
	}
	l.within = 50 * time.Millisecond
	want := fmt.Sprintf("GSSAPI: no KDC answers within 50ms (%s): check the KDC in %s and the way there", addr, l.conf)
	if _, _, err := l.mechanism("kafka").Authenticate(t.Context(), "127.0.0.1:9092"); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestSeveralKDCsHaveMoreTime(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "krb5.conf")
	for kdcs, want := range map[int]time.Duration{1: 5 * time.Second, 2: 14 * time.Second, 9: 14 * time.Second} {
		text := "[libdefaults]\n default_realm = TEST\n[realms]\n TEST = {\n" + strings.Repeat("  kdc = b1:88\n", kdcs) + " }\n"
		must.Do(t, os.WriteFile(conf, []byte(text), 0o600))
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
