package security

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

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
		if err != nil || !strings.HasPrefix(message, "n,,\x01auth=Bearer ey") || !strings.Contains(message, "\x01logicalCluster=lkc-1\x01") {
			t.Fatalf("%q, %v", message, err)
		}
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
		if _, err := kept.current(t.Context(), start.Add(r.after)); err != nil || renewed != r.want {
			t.Errorf("after %s there were %d tokens, want %d, %v", r.after, renewed, r.want, err)
		}
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
	if _, err := first(t, mustParse(t, tokenProperties(url, other)...)); err == nil || !strings.Contains(err.Error(), "put its authority into ssl.truststore.location") {
		t.Error(err)
	}
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
	if _, err := first(t, mustParse(t, tokenProperties(url, certificate)...)); err != nil || asked.Load() != 3 {
		t.Errorf("asked %d times, %v", asked.Load(), err)
	}
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
		if message, err := first(t, s); err != nil || !strings.Contains(message, "Bearer "+token+"\x01") {
			t.Errorf("%q, %v", message, err)
		}
	}
}

func TestARefusedTokenSaysWhatTheBrokerSaid(t *testing.T) {
	session := bearerSession{}
	if done, _, err := session.Challenge(nil); !done || err != nil {
		t.Error(done, err)
	}
	_, _, err := session.Challenge([]byte(`{"status":"invalid_token"}`))
	if err = (Settings{}).Explain(err); err == nil || !strings.Contains(err.Error(), `refuses the token ("invalid_token")`) {
		t.Error(err)
	}
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
