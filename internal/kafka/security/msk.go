package security

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/aws"

	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/secret"
)

type keys struct{ id, key, session secret.Text }

// msk looks for credentials of AWS at each authentication, because they expire, as the MSK library for Java does: a named profile,
// then the SDK's chain. Unlike Java it fails when a named profile has no keys: the load would run as somebody else.
func (v *values) msk(m module) sasl.Mechanism {
	for _, option := range []string{"awsRoleArn", "awsRoleAccessKeyId", "awsStsRegion"} {
		if m.option(option) != "" {
			v.bad("sasl.jaas.config", "option %s: kt assumes no role: give the credentials of the role in the environment or in a profile", option)
		}
	}
	profile := m.option("awsProfileName")
	home, _ := os.UserHomeDir() // none with an error
	file := cmp.Or(v.environment("AWS_SHARED_CREDENTIALS_FILE"), filepath.Join(cmp.Or(v.environment("HOME"), home), ".aws", "credentials"))
	return aws.ManagedStreamingIAM(func(ctx context.Context) (aws.Auth, error) {
		found, err := v.awsKeys(ctx, profile, file)
		return aws.Auth{AccessKey: found.id.Reveal(), SecretKey: found.key.Reveal(), SessionToken: found.session.Reveal(), UserAgent: "kt"}, err
	})
}

func (v *values) awsKeys(ctx context.Context, profile, file string) (keys, error) {
	from := "awsProfileName"
	if profile == "" {
		id, key := v.environment("AWS_ACCESS_KEY_ID"), v.environment("AWS_SECRET_ACCESS_KEY")
		if id != "" && key != "" {
			return keys{secret.New(id), secret.New(key), secret.New(v.environment("AWS_SESSION_TOKEN"))}, nil
		}
		profile, from = v.environment("AWS_PROFILE"), "AWS_PROFILE"
	}
	data, err := input.Read(file, input.Settings)
	if found, ok := sharedKeys(string(data), cmp.Or(profile, "default")); ok {
		return found, nil
	}
	if profile != "" {
		because := ""
		if err != nil {
			because = fmt.Sprintf(" (%v)", err)
		}
		return keys{}, &TokenError{fmt.Sprintf("AWS_MSK_IAM: %s has no profile %q with keys%s: check %s", file, profile, because, from)}
	}
	at := v.environment("AWS_CONTAINER_CREDENTIALS_FULL_URI")
	if relative := v.environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"); relative != "" {
		at = "http://169.254.170.2" + relative
	}
	if at != "" {
		token := v.environment("AWS_CONTAINER_AUTHORIZATION_TOKEN")
		if path := v.environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); path != "" {
			data, err := input.Read(path, input.Settings)
			if err != nil {
				return keys{}, &TokenError{fmt.Sprintf("AWS_MSK_IAM: read %s: %v", path, err)}
			}
			token = strings.TrimSpace(string(data))
		}
		return askKeys(ctx, http.MethodGet, at, map[string]string{"Authorization": token})
	}
	if v.environment("AWS_EC2_METADATA_DISABLED") != "true" {
		service := cmp.Or(v.environment("AWS_EC2_METADATA_SERVICE_ENDPOINT"), "http://169.254.169.254")
		if found, err := v.instanceKeys(ctx, strings.TrimSuffix(service, "/")+"/latest/"); err == nil {
			return found, nil
		}
	}
	return keys{}, &TokenError{"AWS_MSK_IAM: there are no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give a profile (awsProfileName)"}
}

func sharedKeys(text, profile string) (found keys, ok bool) {
	in := ""
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			in = strings.TrimSpace(strings.TrimPrefix(strings.Trim(line, "[] "), "profile "))
		}
		name, value, pair := strings.Cut(line, "=")
		if !pair || in != profile {
			continue
		}
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(name) {
		case "aws_access_key_id":
			found.id = secret.New(value)
		case "aws_secret_access_key":
			found.key = secret.New(value)
		case "aws_session_token":
			found.session = secret.New(value)
		}
	}
	return found, found.id.Reveal() != "" && found.key.Reveal() != ""
}

func (v *values) instanceKeys(ctx context.Context, service string) (keys, error) {
	token, err := askService(ctx, http.MethodPut, service+"api/token", map[string]string{"X-aws-ec2-metadata-token-ttl-seconds": "300"})
	if err != nil {
		return keys{}, err
	}
	with := map[string]string{"X-aws-ec2-metadata-token": string(token)}
	const roles = "meta-data/iam/security-credentials/"
	role, err := askService(ctx, http.MethodGet, service+roles, with)
	if err != nil {
		return keys{}, err
	}
	first, _, _ := strings.Cut(string(role), "\n")
	return askKeys(ctx, http.MethodGet, service+roles+strings.TrimSpace(first), with)
}

func askKeys(ctx context.Context, method, at string, headers map[string]string) (keys, error) {
	body, err := askService(ctx, method, at, headers)
	var answer struct{ AccessKeyID, SecretAccessKey, Token string }
	if err == nil {
		err = json.Unmarshal(body, &answer)
	}
	if err != nil || answer.AccessKeyID == "" {
		return keys{}, &TokenError{fmt.Sprintf("AWS_MSK_IAM: the credentials service of this host gives no keys (%v): check its role", err)}
	}
	return keys{secret.New(answer.AccessKeyID), secret.New(answer.SecretAccessKey), secret.New(answer.Token)}, nil
}

// askService asks a service on this host or its link, which answers soon or is not there.
func askService(ctx context.Context, method, at string, headers map[string]string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, at, nil)
	if err != nil {
		return nil, err
	}
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: secret.Stay} // without a proxy
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answers %s", response.Status)
	}
	const most = 64 << 10
	return io.ReadAll(io.LimitReader(response.Body, most))
}
