package kafka

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
)

// OtherMembers returns a clause on the members of a group whose partitions have no reader in this process; "" if there are none or
// kt may not see them.
func (c *Cluster) OtherMembers(ctx context.Context, l *Layout, g *GroupPositions) string {
	ctx, cancel := context.WithTimeout(ctx, AdminTimeout)
	defer cancel()
	var clauses []string
	add := func(client, host string, assigned kadm.TopicsSet) {
		var theirs []string
		l.Each(func(topic string, partition, number int32) {
			if _, ok := assigned[topic][partition]; ok && g.At(number).Owner.Load() == 0 {
				theirs = append(theirs, fmt.Sprintf("%s-%d", topic, partition))
			}
		})
		if len(theirs) > 0 {
			clauses = append(clauses, fmt.Sprintf("client id %s at %s has %s", client, strings.TrimPrefix(host, "/"), Some(theirs)))
		}
	}
	classic, _ := c.admin.DescribeGroups(ctx, g.Name) // a group is known in one of both ways
	for _, m := range classic[g.Name].Members {
		assigned := make(kadm.TopicsSet)
		if a, ok := m.Assigned.AsConsumer(); ok {
			for _, t := range a.Topics {
				assigned.Add(t.Topic, t.Partitions...)
			}
		}
		add(m.ClientID, m.ClientHost, assigned)
	}
	modern, _ := c.admin.DescribeConsumerGroups(ctx, g.Name)
	for _, m := range modern[g.Name].Members {
		add(m.ClientID, m.ClientHost, m.Assignment)
	}
	if len(clauses) == 0 {
		return ""
	}
	slices.Sort(clauses)
	return fmt.Sprintf("group %s has other members: %s", g.Name, Some(clauses))
}

// Some joins words. It counts those behind the first six.
func Some(words []string) string {
	const most = 6
	if len(words) > most {
		return strings.Join(words[:most], ", ") + fmt.Sprintf(" and %d more", len(words)-most)
	}
	return strings.Join(words, ", ")
}
