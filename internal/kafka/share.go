package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// ShareGroup is a share group as it was before a load. Cluster.FindShare makes it.
type ShareGroup struct {
	Name  string
	Made  bool   // it was not there: kt makes it, and deletes it
	Start string // where its own settings let it begin; "": they do not say
	Limit int    // deliveries of a record before it is archived; 0: not known
	Locks int    // records of a partition that may be delivered and not settled, with all between the first of them and the last; 0: not known

	LockMillis int // for which a record is locked after its delivery; 0: not known
	Session    int // milliseconds after which a member that was killed counts as gone; 0: not known
}

// CheckShare returns why the cluster has no share group of so many members; nil: it can have one.
func (c *Cluster) CheckShare(ctx context.Context, members int) error {
	if c.shareVersion < 1 {
		return result.Misfit("--group-protocol share: the cluster (%s) has no share groups: its feature share.version is 0; Kafka 4.2 has them, or after kafka-features upgrade --feature share.version=1",
			c.Info.Version).About("group-protocol")
	}
	if most, _ := strconv.Atoi(c.brokerSettings(ctx)["group.share.max.size"]); most > 0 && members > most { // 0: the coordinator refuses them
		return result.Misfit("--consumers %d: a share group of this cluster has at most %s (group.share.max.size)", members, theme.Plural(most, "member", "members")).About("consumers")
	}
	return nil
}

// brokerSettings returns the settings of a broker; none: it does not tell them.
func (c *Cluster) brokerSettings(ctx context.Context) map[string]string {
	settings, _ := Values(c.admin.DescribeBrokerConfigs(ctx, c.Info.Brokers[0].ID))
	return settings
}

// CheckConsumerGroup returns an error if a group is a share group.
func (c *Cluster) CheckConsumerGroup(ctx context.Context, name string) error {
	if listed, _ := c.admin.ListGroups(ctx); listed[name].ProtocolType == "share" {
		return result.Misfit("--group %s: it is a share group; add --group-protocol share, or name another one", name).About("group")
	}
	return nil
}

// FindShare looks up a share group.
func (c *Cluster) FindShare(ctx context.Context, name string) (g ShareGroup, err error) {
	ctx, cancel := context.WithTimeout(ctx, AdminTimeout)
	defer cancel()
	listed, err := c.admin.ListGroups(ctx)
	found, there := listed[name]
	switch g = (ShareGroup{Name: name, Made: !there}); {
	case err != nil:
		return g, fmt.Errorf("list groups: %w", plainly(err))
	case there && found.ProtocolType != "share":
		return g, result.Misfit("--group %s: it is there, and no share group; name another one", name).About("group")
	}
	own, err := c.GroupSettings(ctx, name)
	if err != nil {
		return g, err
	}
	of := c.brokerSettings(ctx)
	for name, number := range map[string]*int{
		"share.delivery.count.limit": &g.Limit, "share.partition.max.record.locks": &g.Locks,
		"share.record.lock.duration.ms": &g.LockMillis, "share.session.timeout.ms": &g.Session,
	} {
		*number, _ = strconv.Atoi(cmp.Or(own[name], of["group."+name])) // its own, since Kafka 4.3
	}
	g.Start = own[StartSetting]
	return g, nil
}

// StartSetting says where a share group begins.
const StartSetting = "share.auto.offset.reset"

// GroupSettings returns the settings that a group has of its own; none: the brokers' count.
func (c *Cluster) GroupSettings(ctx context.Context, name string) (map[string]string, error) {
	const ofGroup = 8 // Kafka's source DYNAMIC_GROUP_CONFIG
	request := &kmsg.DescribeConfigsRequest{Resources: []kmsg.DescribeConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeGroupConfig, ResourceName: name}}}
	answer, err := request.RequestWith(ctx, c.client)
	if err != nil {
		return nil, fmt.Errorf("group %s: its settings: %w", name, plainly(err))
	}
	own := make(map[string]string)
	for _, r := range answer.Resources {
		for _, s := range r.Configs {
			if s.Source == ofGroup && s.Value != nil {
				own[s.Name] = *s.Value
			}
		}
	}
	return own, nil
}

// StartShare sets where a share group that kt makes begins: earliest or latest; "": as the brokers say.
func (c *Cluster) StartShare(ctx context.Context, g ShareGroup, start string) error {
	if !g.Made {
		return nil
	}
	config := kmsg.IncrementalAlterConfigsRequestResourceConfig{Name: StartSetting, Op: kmsg.IncrementalAlterConfigOpDelete}
	if start != "" {
		config.Op, config.Value = kmsg.IncrementalAlterConfigOpSet, &start
	}
	request := &kmsg.IncrementalAlterConfigsRequest{Resources: []kmsg.IncrementalAlterConfigsRequestResource{{
		ResourceType: kmsg.ConfigResourceTypeGroupConfig, ResourceName: g.Name, Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{config},
	}}}
	answer, err := request.RequestWith(ctx, c.client)
	for i := 0; err == nil && i < len(answer.Resources); i++ {
		err = kerr.ErrorForCode(answer.Resources[i].ErrorCode)
	}
	if err != nil {
		return fmt.Errorf("share group %s: set %s: %w", g.Name, config.Name, err)
	}
	return nil
}

// ShareOffsets returns the first offsets that a share group has not settled, by partition number, and how many records from there on
// it has not; -1: not known, as where it has acknowledged nothing yet.
func (c *Cluster) ShareOffsets(ctx context.Context, l *Layout, group string) (starts, left []int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, AdminTimeout)
	defer cancel()
	described, err := c.admin.DescribeShareGroupOffsets(ctx, group)
	if g := described[group]; err == nil && !errors.Is(g.Err, kerr.GroupIDNotFound) {
		err = g.Err
	}
	for _, p := range l.All() {
		start, lag := int64(-1), int64(-1)
		if o, ok := described[group].Offsets.Lookup(p.Topic, p.ID); ok && o.Err == nil {
			start, lag = o.StartOffset, o.Lag
		}
		starts, left = append(starts, start), append(left, lag)
	}
	return starts, left, plainly(err)
}

// ShareMembers returns the members of a share group: client id and host, by member id. None: it has none, or they are not known.
func (c *Cluster) ShareMembers(ctx context.Context, group string) map[string]string {
	described, _ := c.admin.DescribeShareGroups(ctx, group)
	members := make(map[string]string)
	for _, m := range described[group].Members {
		members[m.MemberID] = fmt.Sprintf("client id %s at %s", m.ClientID, strings.TrimPrefix(m.ClientHost, "/"))
	}
	return members
}

// DeleteShareGroup deletes a share group that kt made, and puts back where it begins. It waits for members to leave and for brokers
// that are away, up to AdminTimeout. The error says why the group stays, and how it can be removed.
func (c *Cluster) DeleteShareGroup(ctx context.Context, g ShareGroup) error {
	if !g.Made {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, AdminTimeout)
	defer cancel()
	_, err := c.admin.DeleteGroup(ctx, g.Name)
	for IsAny(err, kerr.NonEmptyGroup) && Pause(ctx, leaderPoll) {
		_, err = c.admin.DeleteGroup(ctx, g.Name)
	}
	if err == nil || IsAny(err, kerr.GroupIDNotFound) {
		err = c.StartShare(ctx, g, g.Start)
	}
	switch {
	case err == nil:
		return nil
	case IsAny(err, kerr.NonEmptyGroup):
		err = errors.New("it has members, or had some that were killed a moment ago")
	case ctx.Err() != nil:
		err = fmt.Errorf("no answer came within %s", AdminTimeout)
	}
	return fmt.Errorf("share group %s and its setting %s stay: %w; these commands remove both: kafka-share-groups --bootstrap-server %[4]s --delete --group %[1]s; "+
		"kafka-configs --bootstrap-server %[4]s --alter --entity-type groups --entity-name %[1]s --delete-config %[2]s", g.Name, StartSetting, plainly(err), c.Info.Brokers[0].Addr)
}
