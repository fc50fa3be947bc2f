package security

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/secret"
)

// endpoint returns a function that asks a token endpoint for a token with client credentials (RFC 6749, 4.4), as Java does.
func (v *values) endpoint(property string, at *url.URL, m module) func(context.Context) (secret.Text, error) {
	id := v.first("sasl.oauthbearer.client.credentials.client.id", m, "clientId")
	password := v.first("sasl.oauthbearer.client.credentials.client.secret", m, "clientSecret")
	scope := v.first("sasl.oauthbearer.scope", m, "scope")
	if id.Reveal() == "" || password.Reveal() == "" {
		v.bad(property, "a token endpoint needs sasl.oauthbearer.client.credentials.client.id and …client.secret, or clientId and clientSecret in sasl.jaas.config")
	}
	if at.Scheme == "http" {
		v.warn("%s: the client secret and the tokens go to %s in plain text: use https", property, at.Host)
	}
	if strings.EqualFold(v.text("sasl.oauthbearer.header.urlencode"), "true") {
		id, password = secret.Cover(url.QueryEscape(id.Reveal())), secret.New(url.QueryEscape(password.Reveal()))
	}
	authorities := v.authorities(m)
	dial, read := v.millis("sasl.login.connect.timeout.ms", 10*time.Second), v.millis("sasl.login.read.timeout.ms", 10*time.Second)
	pause, most := v.millis("sasl.login.retry.backoff.ms", 0), v.millis("sasl.login.retry.backoff.max.ms", 0)
	form := url.Values{"grant_type": {"client_credentials"}}
	if scope.Reveal() != "" {
		form.Set("scope", scope.Reveal())
	}
	once := func(ctx context.Context) (secret.Text, bool, error) {
		ctx, cancel := context.WithTimeout(ctx, dial+read)
		defer cancel()
		pool, err := authorities()
		if err != nil {
			return secret.Text{}, false, err
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, at.String(), strings.NewReader(form.Encode()))
		if err != nil {
			return secret.Text{}, false, err
		}
		request.SetBasicAuth(id.Reveal(), password.Reveal())
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("Accept", "application/json")
		transport := &http.Transport{
			DialContext: (&net.Dialer{Timeout: dial}).DialContext, TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
			DisableKeepAlives: true,
		}
		response, err := (&http.Client{Transport: transport, CheckRedirect: secret.Stay}).Do(request)
		if err != nil {
			cause, passing := unanswered(err)
			return secret.Text{}, passing, tokenError("ask %s for a token: %s", at.Host, cause)
		}
		defer func() { _ = response.Body.Close() }() // it was only read
		return tokenOf(at.Host, response)
	}
	return func(ctx context.Context) (secret.Text, error) { return again(ctx, pause, most, once) }
}

// leastPause keeps a pause of 0 from asking without end.
const leastPause = 100 * time.Millisecond

// again asks until there is a token, an error that stays, or the time for another try is over. The pause doubles.
func again(ctx context.Context, pause, most time.Duration, once func(context.Context) (secret.Text, bool, error)) (secret.Text, error) {
	began := time.Now()
	for pause = max(pause, leastPause); ; pause *= 2 {
		token, passing, err := once(ctx)
		if err == nil || !passing || time.Since(began)+pause > most {
			return token, err
		}
		select {
		case <-ctx.Done():
			return token, err
		case <-time.After(pause):
		}
	}
}

func tokenOf(host string, response *http.Response) (secret.Text, bool, error) {
	const most = 1 << 20
	body, err := io.ReadAll(io.LimitReader(response.Body, most))
	if err != nil {
		return secret.Text{}, true, tokenError("read the answer of %s: %v", host, err)
	}
	var answer struct {
		Token   string `json:"access_token"`
		ID      string `json:"id_token"`
		Problem string `json:"error"`
	}
	bad := json.Unmarshal(body, &answer)
	switch {
	case response.StatusCode == http.StatusUnauthorized || answer.Problem == "invalid_client":
		return secret.Text{}, false, tokenError("%s refuses the client id or the client secret (%s): check both", host, response.Status)
	case answer.Problem == "invalid_scope":
		return secret.Text{}, false, tokenError("%s refuses the scope: check sasl.oauthbearer.scope", host)
	case response.StatusCode != http.StatusOK:
		return secret.Text{}, response.StatusCode >= 500, tokenError("%s gives no token (%s %.60q): check sasl.oauthbearer.token.endpoint.url", host, response.Status, secret.Scrub(answer.Problem))
	case bad != nil || answer.Token == "" && answer.ID == "":
		return secret.Text{}, false, tokenError("the answer of %s has no access_token: check sasl.oauthbearer.token.endpoint.url", host)
	case answer.Token == "":
		return secret.New(answer.ID), false, nil
	}
	return secret.New(answer.Token), false, nil
}

// unanswered returns why a token endpoint did not answer, and whether asking again may help: not where TLS or a name is wrong.
func unanswered(err error) (cause string, passing bool) {
	var certificate *tls.CertificateVerificationError
	var dns *net.DNSError
	switch {
	case errors.As(err, &certificate):
		return fmt.Sprintf("its certificate is refused (%v): put its authority into ssl.truststore.location", certificate.Err), false
	case errors.Is(err, context.DeadlineExceeded):
		return "it does not answer in time: check the URL and sasl.login.read.timeout.ms", true
	}
	passing = !errors.As(err, new(tls.RecordHeaderError)) && (!errors.As(err, &dns) || !dns.IsNotFound)
	return last(err) + ": check sasl.oauthbearer.token.endpoint.url", passing
}

func (v *values) first(property string, m module, option string) secret.Text {
	if v.has(property) {
		return v.secret(property)
	}
	return m.options[option]
}

func (v *values) millis(name string, preset time.Duration) time.Duration {
	if v.text(name) == "" {
		return preset
	}
	return time.Duration(v.number(name) * float64(time.Millisecond))
}
