package kafka

import (
	"context"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// Anonymous is the user of a client that does not authenticate.
const Anonymous = "ANONYMOUS"

// Quotas returns the rates that each broker grants the clients of a load, whose ids are given by the name of the quota. It
// returns none where a user has a quota and only the brokers know whether this client is that user.
func (c *Cluster) Quotas(ctx context.Context, clients map[string]string) map[string]float64 {
	ctx, cancel := context.WithTimeout(ctx, AdminTimeout)
	defer cancel()
	described, _ := c.admin.DescribeClientQuotas(ctx, false, nil) // none named: all; a client may not ask
	named := c.access.Security.Mechanism() != "" || c.access.Security.Encrypts()
	if named && slices.ContainsFunc(described, func(d kadm.DescribedClientQuota) bool {
		return slices.ContainsFunc(d.Entity, func(p kadm.ClientQuotaEntityComponent) bool { return p.Type == "user" && p.Name != nil })
	}) {
		return nil
	}
	rates := make(map[string]float64)
	for name, client := range clients {
		if rate := quotaOf(described, name, client); rate > 0 {
			rates[name] = rate
		}
	}
	return rates
}

// quotaOf returns the quota of a name for a client of no user, 0: there is none. Of several the most precise counts, and a user counts
// more than a client id.
func quotaOf(described kadm.DescribedClientQuotas, name, client string) (rate float64) {
	own, best := map[string]string{"user": Anonymous, "client-id": client}, 0
	for _, d := range described {
		rank := 0
		for _, p := range d.Entity {
			weighs := map[string]int{"user": 3, "client-id": 1}[p.Type]
			switch {
			case weighs > 0 && p.Name == nil:
				rank += weighs
			case weighs > 0 && *p.Name == own[p.Type]:
				rank += 2 * weighs
			default: // of others
				rank -= 100
			}
		}
		for _, v := range d.Values {
			if v.Key == name && rank > best {
				best, rate = rank, v.Value
			}
		}
	}
	return rate
}

// FindDirs counts the replicas of a topic by log directory, on brokers that have several.
func (c *Cluster) FindDirs(ctx context.Context, t *result.Topic) {
	ctx, cancel := context.WithTimeout(ctx, AdminTimeout)
	defer cancel()
	var set kadm.TopicsSet
	set.Add(t.Name, slices.Collect(maps.Keys(t.Leaders))...)
	described, _ := c.admin.DescribeAllLogDirs(ctx, set) // a client may not ask
	t.Dirs = make(map[int32]map[string]int)
	for broker, dirs := range described {
		if len(dirs) < 2 {
			continue
		}
		t.Dirs[broker] = make(map[string]int)
		for path, dir := range dirs {
			if dir.Err == nil {
				t.Dirs[broker][theme.Name(path)] = len(dir.Topics[t.Name])
			}
		}
	}
}

// Others returns how many records were ever written to the topics that are neither Kafka's own nor among those named. It returns
// false where they are not known, or too many to ask for.
func (c *Cluster) Others(ctx context.Context, names []string) (int64, bool) {
	const most = 5_000 // partitions
	ctx, cancel := context.WithTimeout(ctx, AdminTimeout)
	defer cancel()
	all, err := c.admin.ListTopics(ctx)
	var others []result.Topic
	partitions := 0
	for name, t := range all {
		if !slices.Contains(names, name) {
			others, partitions = append(others, topicOf(t)), partitions+len(t.Partitions)
		}
	}
	if err != nil || partitions > most {
		return 0, false
	}
	ends, err := c.EndOffsets(ctx, NewLayout(others), false)
	sum := int64(0)
	for _, end := range ends {
		sum += end
	}
	return sum, err == nil
}
