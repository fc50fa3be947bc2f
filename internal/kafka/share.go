package kafka

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// shareStart is the config of a share group that says where a new one begins.
const shareStart = "share.auto.offset.reset"

// ShareGroup is a share group as it was found before a load. Cluster.PrepareShare makes it.
type ShareGroup struct {
	Name  string
	Made  bool      // it was not there: kt gives it its start, and deletes it
	From  plan.From // where a partition without a state begins; of another kind than earliest and latest: not known
	Limit int       // deliveries of a record before it is archived
}

// CheckShare returns why the cluster has no share group of so many members; nil: it can have one.
func (c *Cluster) CheckShare(ctx context.Context, members int) error {
	if c.shareVersion < 1 {
		return result.Misfit("--group-protocol share: the cluster (%s) has no share groups: its feature share.version is 0; Kafka has them since 4.2, and kafka-features upgrade --feature share.version=1 turns them on",
			c.Info.Version).About("group-protocol")
	}
	settings, _ := Values(c.admin.DescribeBrokerConfigs(ctx, c.Info.Brokers[0].ID)) // none: the coordinator refuses members
	if most, _ := strconv.Atoi(settings["group.share.max.size"]); most > 0 && members > most {
		return result.Misfit("--consumers %d: a share group of this cluster has at most %s (group.share.max.size)", members, theme.Plural(most, "member", "members")).About("consumers")
	}
	return nil
}

// PrepareShare looks up a share group. It gives one that is not there yet its start.
func (c *Cluster) PrepareShare(ctx context.Context, name string, start plan.From) (ShareGroup, error) {
	ctx, cancel := context.WithTimeout(ctx, AdminTimeout)
	defer cancel()
	g := ShareGroup{Name: name, From: start}
	listed, err := c.admin.ListGroups(ctx)
	found, there := listed[name]
	switch {
	case err != nil:
		return g, fmt.Errorf("list groups: %w", plainly(err))
	case there && found.ProtocolType != "share":
		return g, result.Misfit("--group %s: it is no share group but one of type %q; name another one", name, found.ProtocolType).About("group")
	}
	if g.Made = !there; g.Made {
		if err := c.setShareStart(ctx, name, start.String()); err != nil {
			return g, fmt.Errorf("group %s: set %s: %w", name, shareStart, err)
		}
	}
	settings, err := c.shareSettings(ctx, name)
	if err != nil {
		return g, fmt.Errorf("group %s: read its settings: %w", name, err)
	}
	if g.Limit, _ = strconv.Atoi(settings["share.delivery.count.limit"]); g.Limit == 0 { // before Kafka 4.3 it is of all groups
		all, _ := Values(c.admin.DescribeBrokerConfigs(ctx, c.Info.Brokers[0].ID))
		g.Limit, _ = strconv.Atoi(all["group.share.delivery.count.limit"])
	}
	if !g.Made {
		g.From = plan.From{HasOffset: true} // not known
		if from, err := plan.ParseFrom(settings[shareStart]); err == nil {
			g.From = from
		}
	}
	return g, nil
}

// setShareStart sets where a share group begins; "": as the brokers say.
func (c *Cluster) setShareStart(ctx context.Context, group, start string) error {
	config := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	config.Name, config.Op = shareStart, kmsg.IncrementalAlterConfigOpDelete
	if start != "" {
		config.Op, config.Value = kmsg.IncrementalAlterConfigOpSet, &start
	}
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	resource.ResourceType, resource.ResourceName, resource.Configs = kmsg.ConfigResourceTypeGroupConfig, group, append(resource.Configs, config)
	request := kmsg.NewPtrIncrementalAlterConfigsRequest()
	request.Resources = append(request.Resources, resource)
	answer, err := request.RequestWith(ctx, c.client)
	for i := 0; err == nil && i < len(answer.Resources); i++ {
		err = refuse(kerr.ErrorForCode(answer.Resources[i].ErrorCode), deref(answer.Resources[i].ErrorMessage))
	}
	return err
}

func (c *Cluster) shareSettings(ctx context.Context, group string) (map[string]string, error) {
	resource := kmsg.NewDescribeConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeGroupConfig, group
	request := kmsg.NewPtrDescribeConfigsRequest()
	request.Resources = append(request.Resources, resource)
	answer, err := request.RequestWith(ctx, c.client)
	if err != nil {
		return nil, err
	}
	settings := make(map[string]string)
	for _, r := range answer.Resources {
		err = errors.Join(err, kerr.ErrorForCode(r.ErrorCode))
		for _, s := range r.Configs {
			settings[s.Name] = deref(s.Value)
		}
	}
	return settings, err
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// ShareOffsets returns the first offsets of a share group that are not settled, by partition number, and how many records from there
// on are not; -1: not known, as of a partition from which the group has acknowledged nothing yet.
func (c *Cluster) ShareOffsets(ctx context.Context, l *Layout, group string) (starts, left []int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, AdminTimeout)
	defer cancel()
	described, err := c.admin.DescribeShareGroupOffsets(ctx, group)
	if g := described[group]; err == nil && !errors.Is(g.Err, kerr.GroupIDNotFound) {
		err = g.Err
	}
	for _, p := range l.All() {
		o, ok := described[group].Offsets.Lookup(p.Topic, p.ID)
		if !ok || o.Err != nil {
			o = kadm.ShareOffset{StartOffset: -1, Lag: -1}
		}
		starts, left = append(starts, o.StartOffset), append(left, o.Lag)
	}
	return starts, left, plainly(err)
}

// OtherShareMembers returns how many members a share group has beside those of this process.
func (c *Cluster) OtherShareMembers(ctx context.Context, group string, own int) int {
	described, _ := c.admin.DescribeShareGroups(ctx, group)
	return len(described[group].Members) - own
}

// shareLeave is how long members of a share group may take to leave it.
const shareLeave = 5 * time.Second

// DeleteShareGroup deletes a share group that kt made, with its settings. One that other members are in stays.
func (c *Cluster) DeleteShareGroup(ctx context.Context, group string) error {
	ctx, cancel := context.WithTimeout(ctx, shareLeave)
	defer cancel()
	_, err := c.admin.DeleteGroup(ctx, group)
	for IsAny(err, kerr.NonEmptyGroup) && Pause(ctx, leaderPoll) {
		_, err = c.admin.DeleteGroup(ctx, group)
	}
	switch {
	case IsAny(err, kerr.NonEmptyGroup):
		return nil
	case err != nil && !IsAny(err, kerr.GroupIDNotFound):
		return fmt.Errorf("delete share group %s: %w", group, plainly(err))
	}
	return c.setShareStart(ctx, group, "")
}
