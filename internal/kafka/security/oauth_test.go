package security

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/secret"
)

// jwt returns a token that expires at a time; nobody has signed it.
func jwt(id int, at time.Time) string {
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"RS256"}`)) + "." + encode(fmt.Appendf(nil, `{"jti":"%d","exp":%d}`, id, at.Unix())) + ".c2ln"
}

// first returns the first message of the mechanism to a broker, as the client built of the settings sends it.
func first(t *testing.T, s Settings) (string, error) {
	t.Helper()
	client := must.Have(kgo.NewClient(s.Options()...))(t)
	defer client.Close()
	_, message, err := client.OptValue(kgo.SASL).([]sasl.Mechanism)[0].Authenticate(t.Context(), "b1.kafka.eu-west-1.amazonaws.com:9098")
	return string(message), s.Explain(err)
}

// endpoint serves tokens, and returns its URL and its certificate.
func endpoint(t *testing.T, answer http.HandlerFunc) (url, certificate string) {
	t.Helper()
	server := httptest.NewTLSServer(answer)
	t.Cleanup(server.Close)
	return server.URL + "/token", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
}

func tokenProperties(url, certificate string, more ...string) []string {
	return append([]string{
		"security.protocol=SASL_SSL", "sasl.mechanism=OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url=" + url, "ssl.truststore.certificates=" + certificate,
		`sasl.jaas.config=x.OAuthBearerLoginModule required clientId="kt" clientSecret="hunter2" scope="write" extension_logicalCluster="lkc-1";`,
		"sasl.login.retry.backoff.ms=1",
	}, more...)
}

func TestATokenIsAskedForOnceAndRenewedBeforeItExpires(t *testing.T) {
	var asked atomic.Int32
	url, certificate := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if user != "kt" || password != "hunter2" || r.FormValue("grant_type") != "client_credentials" || r.FormValue("scope") != "write" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer"}`, jwt(int(asked.Add(1)), time.Now().Add(time.Hour)))
	})
	s := mustParse(t, tokenProperties(url, certificate)...)
	for range 2 {
		message, err := first(t, s)
		must.Hold(t, err == nil && strings.HasPrefix(message, "n,,\x01auth=Bearer ey") && strings.Contains(message, "\x01logicalCluster=lkc-1\x01"),
			"%q, %v", message, err)
	}
	must.Match(t, 1, asked.Load(), "questions for two connections")
	renewed := 0
	start := time.Now()
	kept := &tokens{window: 0.8, ask: func(context.Context) (secret.Text, error) {
		renewed++
		return secret.New(jwt(renewed, start.Add(100*time.Second))), nil
	}}
	for _, r := range []struct {
		after time.Duration
		want  int
	}{{0, 1}, {70 * time.Second, 1}, {81 * time.Second, 2}, {82 * time.Second, 2}, {97 * time.Second, 3}} {
		_, err := kept.current(t.Context(), start.Add(r.after))
		must.True(t, err == nil && renewed == r.want, "after %s there were %d tokens, want %d, %v", r.after, renewed, r.want, err)
	}
}

func TestATokenThatCannotBeHadSaysWhyAndShowsNoSecret(t *testing.T) {
	status := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
		}
	}
	for _, r := range []struct {
		name   string
		answer http.HandlerFunc
		more   []string
		want   string
	}{
		{"a wrong secret", status(401, `{"error":"invalid_client"}`), nil, "refuses the client id or the client secret (401 Unauthorized): check both"},
		{"a wrong scope", status(400, `{"error":"invalid_scope"}`), nil, "check sasl.oauthbearer.scope"},
		{"no token", status(200, `{}`), nil, "has no access_token"},
		{"a page", status(200, `<html>`), nil, "has no access_token"},
		{"not there", status(404, ``), nil, "404 Not Found"},
		{"a redirect, which would take the secret along", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/other", http.StatusFound) }, nil, "302 Found"},
		{"always busy", status(503, ``), []string{"sasl.login.retry.backoff.max.ms=20"}, "503 Service Unavailable"},
		{"an old token", status(200, `{"access_token":"`+jwt(1, time.Now().Add(-time.Hour))+`"}`), nil, "the token expired at"},
	} {
		url, certificate := endpoint(t, r.answer)
		_, err := first(t, mustParse(t, tokenProperties(url, certificate, r.more...)...))
		if err == nil || !strings.Contains(err.Error(), r.want) || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", r.name, err, r.want)
		}
	}
	url, _ := endpoint(t, status(200, ``))
	other := sign(t, nil, nil).pem()
	_, err := first(t, mustParse(t, tokenProperties(url, other)...))
	must.True(t, err != nil && strings.Contains(err.Error(), "put its authority into ssl.truststore.location"), "%v", err)
}

// An error that may pass is no end: the endpoint is asked again.
func TestABusyTokenEndpointIsAskedAgain(t *testing.T) {
	var asked atomic.Int32
	url, certificate := endpoint(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintf(w, `{"access_token":%q}`, jwt(1, time.Now().Add(time.Hour)))
	})
	_, err := first(t, mustParse(t, tokenProperties(url, certificate)...))
	must.True(t, err == nil && asked.Load() == 3, "asked %d times, %v", asked.Load(), err)
}

func TestATokenInAFileIsReadAtEachAuthentication(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	write := func(text string) {
		must.Do(t, os.WriteFile(file, []byte(text+"\n"), 0o600))
	}
	write("first")
	s := mustParse(t, "security.protocol=SASL_SSL", "sasl.mechanism=OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url=file://"+file)
	for _, token := range []string{"first", "second"} {
		write(token)
		message, err := first(t, s)
		must.True(t, err == nil && strings.Contains(message, "Bearer "+token+"\x01"), "%q, %v", message, err)
	}
}

func TestARefusedTokenSaysWhatTheBrokerSaid(t *testing.T) {
	session := bearerSession{}
	if done, _, err := session.Challenge(nil); !done || err != nil {
		t.Error(done, err)
	}
	_, _, err := session.Challenge([]byte(`{"status":"invalid_token"}`))
	err = (Settings{}).Explain(err)
	must.True(t, err != nil && strings.Contains(err.Error(), `refuses the token ("invalid_token")`), "%v", err)
}

func TestCredentialsOfAWSAreLookedForInTheirUsualPlaces(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials")
	text := "[default]\naws_access_key_id = AKIADEFAULT\naws_secret_access_key=hunter2\n\n[profile load]\naws_access_key_id=AKIALOAD\naws_secret_access_key=hunter2\naws_session_token=s\n"
	must.Do(t, os.WriteFile(file, []byte(text), 0o600))
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPut && r.URL.Path == "/latest/api/token":
			_, _ = w.Write([]byte("session"))
		case r.Header.Get("Authorization") == "pod" || r.Header.Get("X-aws-ec2-metadata-token") == "session" && strings.HasSuffix(r.URL.Path, "/kt"):
			_, _ = w.Write([]byte(`{"AccessKeyId":"AKIASERVICE","SecretAccessKey":"hunter2","Token":"t"}`))
		case r.Header.Get("X-aws-ec2-metadata-token") == "session":
			_, _ = w.Write([]byte("kt\n"))
		default:
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	t.Cleanup(service.Close)
	none := map[string]string{"AWS_SHARED_CREDENTIALS_FILE": "/not/there"}
	with := func(pairs ...string) map[string]string {
		all := map[string]string{"AWS_SHARED_CREDENTIALS_FILE": file}
		for i := 0; i < len(pairs); i += 2 {
			all[pairs[i]] = pairs[i+1]
		}
		return all
	}
	for _, r := range []struct {
		name, option string
		environment  map[string]string
		want, wrong  string
	}{
		{"the environment", "", with("AWS_ACCESS_KEY_ID", "AKIAENV", "AWS_SECRET_ACCESS_KEY", "hunter2"), "AKIAENV", ""},
		{"the file", "", with(), "AKIADEFAULT", ""},
		{"an id in the environment without its key", "", with("AWS_ACCESS_KEY_ID", "AKIAENV"), "AKIADEFAULT", ""},
		{"a profile of the module before keys in the environment", ` awsProfileName="load"`, with("AWS_ACCESS_KEY_ID", "AKIAENV", "AWS_SECRET_ACCESS_KEY", "hunter2"), "AKIALOAD", ""},
		{"keys in the environment before a profile there", "", with("AWS_ACCESS_KEY_ID", "AKIAENV", "AWS_SECRET_ACCESS_KEY", "hunter2", "AWS_PROFILE", "load"), "AKIAENV", ""},
		{"a profile of the module before that of the environment", ` awsProfileName="load"`, with("AWS_PROFILE", "default"), "AKIALOAD", ""},
		{"a profile of the module that is not there", ` awsProfileName="lod"`, with("AWS_ACCESS_KEY_ID", "AKIAENV", "AWS_SECRET_ACCESS_KEY", "hunter2"), "", `AWS_MSK_IAM: {file} has no profile "lod" with keys: check awsProfileName`},
		{"a profile of the environment", "", with("AWS_PROFILE", "load"), "AKIALOAD", ""},
		{"a profile that is not there", "", with("AWS_PROFILE", "lod"), "", `AWS_MSK_IAM: {file} has no profile "lod" with keys: check AWS_PROFILE`},
		{"a profile in a file that is not there", "", with("AWS_PROFILE", "lod", "AWS_SHARED_CREDENTIALS_FILE", "/not/there"), "", `AWS_MSK_IAM: /not/there has no profile "lod" with keys (no such file or directory): check AWS_PROFILE`},
		{"a container", "", with("AWS_SHARED_CREDENTIALS_FILE", "/not/there", "AWS_CONTAINER_CREDENTIALS_FULL_URI", service.URL, "AWS_CONTAINER_AUTHORIZATION_TOKEN", "pod"), "AKIASERVICE", ""},
		{"an instance", "", with("AWS_SHARED_CREDENTIALS_FILE", "/not/there", "AWS_EC2_METADATA_SERVICE_ENDPOINT", service.URL), "AKIASERVICE", ""},
		{"nowhere", "", with("AWS_SHARED_CREDENTIALS_FILE", none["AWS_SHARED_CREDENTIALS_FILE"], "AWS_EC2_METADATA_DISABLED", "true"), "", "there are no AWS credentials"},
	} {
		s, _ := must.Both(Parse(given("security.protocol=SASL_SSL", "sasl.mechanism=AWS_MSK_IAM", "sasl.jaas.config=software.amazon.msk.auth.iam.IAMLoginModule required"+r.option+";"), named,
			func(name string) string { return r.environment[name] }))(t)
		message, err := first(t, s)
		switch {
		case r.wrong != "" && (err == nil || !strings.Contains(err.Error(), strings.ReplaceAll(r.wrong, "{file}", r.environment["AWS_SHARED_CREDENTIALS_FILE"]))):
			t.Errorf("%s: %v", r.name, err)
		case r.wrong == "" && (err != nil || !strings.Contains(message, r.want) || strings.Contains(message, "hunter2")):
			t.Errorf("%s: %.80q, %v", r.name, message, err)
		}
	}
}

// kdc starts a KDC that takes packets and answers none, as behind a firewall. answer serves a connection. It returns a log-in
// at that KDC and its address. defaults are lines of krb5.conf.
func kdc(t *testing.T, defaults string, answer func(net.Conn)) (l *kerberosLogin, addr string) {
	t.Helper()
	tcp := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
	udp := must.Have(net.ListenPacket("udp", tcp.Addr().String()))(t)
	t.Cleanup(func() { _ = udp.Close() }) // nothing was written
	must.Serve(t, tcp, answer)
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
	must.True(t, err != nil && strings.Contains(err.Error(), "KDC_ERR_C_PRINCIPAL_UNKNOWN"), "%v, want the error of the KDC", err)
}

func TestKrb5ConfSaysWhatIsSentByUDP(t *testing.T) {
	for text, want := range map[string]int{"": 0, " udp_preference_limit = 1\n": 1, " udp_preference_limit = 4000\n": 4000} {
		path := filepath.Join(t.TempDir(), "krb5.conf")
		must.Do(t, os.WriteFile(path, []byte("[libdefaults]\n default_realm = TEST\n"+text), 0o600))
		conf, err := (&kerberosLogin{conf: path}).read()
		must.True(t, err == nil && conf.LibDefaults.UDPPreferenceLimit == want,
			"%q: %d, %v; want %d", text, conf.LibDefaults.UDPPreferenceLimit, err, want)
	}
}

func TestALogInEndsWithItsTimeOrItsCaller(t *testing.T) {
	asked, over := make(chan struct{}, 10), make(chan struct{})
	l, addr := kdc(t, " udp_preference_limit = 1\n", func(net.Conn) { asked <- struct{}{}; <-over })
	defer close(over) // the library gives up then, because it does not try UDP
	interrupted := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { <-asked; cancel(interrupted) }()
	_, _, err := l.mechanism("kafka").Authenticate(ctx, "127.0.0.1:9092")
	must.True(t, errors.Is(err, interrupted), "%v, want %v", err, interrupted)
	l.within = 50 * time.Millisecond
	want := fmt.Sprintf("GSSAPI: no KDC answers within 50ms (%s): check the KDC in %s and the way there", addr, l.conf)
	_, _, err = l.mechanism("kafka").Authenticate(t.Context(), "127.0.0.1:9092")
	must.True(t, err != nil && err.Error() == want, "%v, want %s", err, want)
}

func TestSeveralKDCsHaveMoreTime(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "krb5.conf")
	for kdcs, want := range map[int]time.Duration{1: 5 * time.Second, 2: 14 * time.Second, 9: 14 * time.Second} {
		text := "[libdefaults]\n default_realm = TEST\n[realms]\n TEST = {\n" + strings.Repeat("  kdc = b1:88\n", kdcs) + " }\n"
		must.Do(t, os.WriteFile(conf, []byte(text), 0o600))
		got, _ := (&kerberosLogin{conf: conf, within: loginTime}).limit()
		must.True(t, got == want, "%d: %s, want %s", kdcs, got, want)
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
