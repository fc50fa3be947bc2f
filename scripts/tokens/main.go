// Command tokens hands out OAuth tokens to the clients of a test cluster of scripts/kafka: the client
// credentials grant over HTTPS, as RFC 6749 has it. It writes its public key where the brokers read it.
package main

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"
)

// clients are those that get tokens.
var clients = map[string]struct {
	secret string
	life   time.Duration
}{
	"admin":  {"admin-secret", time.Hour},
	"reader": {"reader-secret", time.Hour},
	"brief":  {"brief-secret", 8 * time.Second}, // expires in the middle of any test
}

func main() {
	listen := flag.String("listen", "127.0.0.1:9097", "`address` to listen at")
	pair := flag.String("pair", "", "PEM `file` of the server's key and certificates")
	jwks := flag.String("jwks", "", "`file` to write the public key to")
	flag.Parse()
	if err := serve(*listen, *pair, *jwks); err != nil {
		fmt.Fprintln(os.Stderr, "tokens:", err)
		os.Exit(1)
	}
}

func serve(listen, pair, jwks string) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	if err := os.WriteFile(jwks, publicKey(key), 0o600); err != nil {
		return err
	}
	server := &http.Server{Addr: listen, ReadTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer(w, r, key)
	})}
	return server.ListenAndServeTLS(pair, pair)
}

// answer is the token endpoint. Its errors are those of RFC 6749, section 5.2.
func answer(w http.ResponseWriter, r *http.Request, key *rsa.PrivateKey) {
	w.Header().Set("Content-Type", "application/json")
	id, secret, ok := r.BasicAuth()
	if !ok {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	client, known := clients[id]
	switch {
	case r.PostFormValue("grant_type") != "client_credentials":
		refuse(w, http.StatusBadRequest, "unsupported_grant_type", "client_credentials only")
	case !known || client.secret != secret:
		refuse(w, http.StatusUnauthorized, "invalid_client", "unknown client or wrong secret")
	default:
		scope := r.PostFormValue("scope")
		token, err := sign(key, id, scope, client.life)
		if err != nil {
			refuse(w, http.StatusInternalServerError, "server_error", err.Error())
			return
		}
		fmt.Fprintln(os.Stderr, time.Now().UTC().Format(time.RFC3339), "token for", id)
		write(w, map[string]any{
			"access_token": token, "token_type": "Bearer", "expires_in": int(client.life.Seconds()), "scope": scope,
		})
	}
}

func refuse(w http.ResponseWriter, status int, code, text string) {
	w.WriteHeader(status)
	write(w, map[string]any{"error": code, "error_description": text})
}

func write(w http.ResponseWriter, answer map[string]any) {
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		fmt.Fprintln(os.Stderr, "tokens:", err)
	}
}

// sign makes a JWT (RFC 7519) for one who is called id.
func sign(key *rsa.PrivateKey, id, scope string, life time.Duration) (string, error) {
	now := time.Now()
	claims, err := json.Marshal(map[string]any{
		"iss": "kt-test", "aud": "kafka", "sub": id, "scope": scope, "iat": now.Unix(), "exp": now.Add(life).Unix(),
	})
	if err != nil {
		return "", err
	}
	text := encode([]byte(`{"alg":"RS256","typ":"JWT","kid":"1"}`)) + "." + encode(claims)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	return text + "." + encode(signature), err
}

// publicKey is the key set (RFC 7517) that the brokers check tokens with.
func publicKey(key *rsa.PrivateKey) []byte {
	exponent := binary.BigEndian.AppendUint32(nil, uint32(key.E))
	return fmt.Appendf(nil, `{"keys":[{"kty":"RSA","use":"sig","alg":"RS256","kid":"1","n":%q,"e":%q}]}`+"\n",
		encode(key.N.Bytes()), encode(exponent[1:]))
}

func encode(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }
