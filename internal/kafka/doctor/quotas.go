package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/kt-bench/kt/internal/theme"
)

// quotas lists the quotas that apply to the clients of a load.
func (e *examination) quotas(ctx context.Context) {
	all, err := e.admin.DescribeClientQuotas(ctx, false, nil) // none named: all
	if err != nil {
		e.unread("quotas", "", "DescribeConfigs on the cluster", err)
		return
	}
	found := false
	for _, q := range all {
		if len(q.Values) == 0 || !e.bound(q.Entity) {
			continue
		}
		var limits []string
		for _, v := range q.Values {
			limits = append(limits, limit(v))
		}
		slices.Sort(limits)
		if e.authenticates() && namesUser(q.Entity) {
			e.unknown("quotas", entity(q.Entity), strings.Join(limits, ", ")+", if that is the user of this client")
			continue
		}
		found = true
		e.warn("quotas", entity(q.Entity), "raise it, or stay below: brokers hold back a load that exceeds it (kafka-configs --alter --delete-config removes a quota)",
			"%s", strings.Join(limits, ", "))
	}
	if !found {
		e.pass("quotas", "", "none applies to client ids %s", strings.Join(e.ClientIDs, ", "))
	}
}

// anonymous is the user of a client that does not authenticate.
const anonymous = "ANONYMOUS"

// bound reports whether a quota may apply to the load: each part of its entity is a default or names the load.
func (e *examination) bound(parts kadm.ClientQuotaEntity) bool {
	for _, p := range parts {
		switch {
		case p.Name == nil:
		case p.Type == "client-id" && slices.Contains(e.ClientIDs, *p.Name):
		case p.Type == "user" && (e.authenticates() || *p.Name == anonymous):
		default:
			return false
		}
	}
	return true
}

// authenticates reports whether this client has a user's name. Only the brokers know it.
func (e *examination) authenticates() bool {
	return e.Access.Security.Mechanism() != "" || e.Access.Security.Encrypts()
}

// namesUser reports whether a quota is for one user.
func namesUser(parts kadm.ClientQuotaEntity) bool {
	return slices.ContainsFunc(parts, func(p kadm.ClientQuotaEntityComponent) bool { return p.Type == "user" && p.Name != nil })
}

func entity(parts kadm.ClientQuotaEntity) string {
	var words []string
	for _, p := range parts {
		name := "default"
		if p.Name != nil {
			name = *p.Name
		}
		words = append(words, p.Type+" "+name)
	}
	return strings.Join(words, ", ")
}

func limit(v kadm.ClientQuotaValue) string {
	switch {
	case strings.HasSuffix(v.Key, "_byte_rate"):
		return fmt.Sprintf("%s %s/s on each broker", v.Key, theme.Bytes(int64(v.Value)))
	case v.Key == "request_percentage":
		return fmt.Sprintf("%s %g%% of a broker's threads", v.Key, v.Value)
	}
	return fmt.Sprintf("%s %g/s", v.Key, v.Value)
}
