package kafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/result"
)

// BrokerSettings returns what each broker has been given dynamically of some settings. A setting that no broker knows, and one
// whose value brokers keep secret, are errors.
func (c *Cluster) BrokerSettings(ctx context.Context, names []string) ([]result.BrokerSetting, error) {
	var all []result.BrokerSetting
	for _, b := range c.Info.Brokers {
		var r kadm.ResourceConfig
		described, err := c.admin.DescribeBrokerConfigs(ctx, b.ID)
		if err == nil {
			r, err = described.On(strconv.Itoa(int(b.ID)), func(r *kadm.ResourceConfig) error { return r.Err })
		}
		if err != nil {
			return nil, fmt.Errorf("settings of broker %d: %w", b.ID, errorCause(err))
		}
		for _, name := range names {
			i := slices.IndexFunc(r.Configs, func(k kadm.Config) bool { return k.Key == name })
			switch {
			case i < 0:
				return nil, fmt.Errorf("broker %d has no setting %s", b.ID, name)
			case r.Configs[i].Sensitive:
				return nil, fmt.Errorf("broker setting %s is secret, so kt could not put it back", name)
			}
			s := result.BrokerSetting{Broker: b.ID, Name: name}
			if r.Configs[i].Source == kmsg.ConfigSourceDynamicBrokerConfig {
				s.Value = r.Configs[i].Value
			}
			all = append(all, s)
		}
	}
	return all, nil
}

// CheckBrokerSettings asks the brokers whether they would take settings. Nothing is changed.
func (c *Cluster) CheckBrokerSettings(ctx context.Context, settings []result.BrokerSetting) error {
	return c.alter(ctx, settings, c.admin.ValidateAlterBrokerConfigs)
}

// CheckTopicSetting asks the brokers whether a new topic could have a setting. Nothing is made.
func (c *Cluster) CheckTopicSetting(ctx context.Context, name, value string) error {
	const topic = "kt-check"
	answers, err := c.admin.ValidateCreateTopics(ctx, 1, 1, map[string]*string{name: &value}, topic)
	if err == nil {
		err = refuse(answers[topic].Err, answers[topic].ErrMessage)
	}
	if errors.Is(err, kerr.InvalidConfig) {
		return err
	}
	return nil // whatever else hinders it is not the setting
}

// SetBrokers gives brokers dynamic settings, and waits until they say that they have them.
func (c *Cluster) SetBrokers(ctx context.Context, settings []result.BrokerSetting) error {
	if err := c.alter(ctx, settings, c.admin.AlterBrokerConfigs); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, AdminTimeout)
	defer cancel()
	var names []string
	for _, s := range settings {
		names = append(names, s.Name)
	}
	for {
		now, err := c.BrokerSettings(ctx, names)
		if err != nil {
			return err
		}
		left := slices.IndexFunc(settings, func(s result.BrokerSetting) bool { return !slices.ContainsFunc(now, s.Is) })
		if left < 0 {
			return nil
		}
		if !Pause(ctx, leaderPoll) {
			return fmt.Errorf("broker %d did not take %s within %s", settings[left].Broker, settings[left].Name, AdminTimeout)
		}
	}
}

func (c *Cluster) alter(ctx context.Context, settings []result.BrokerSetting, call func(context.Context, []kadm.AlterConfig, ...int32) (kadm.AlterConfigsResponses, error)) error {
	var errs []error
	for _, b := range c.Info.Brokers {
		var configs []kadm.AlterConfig
		for _, s := range settings {
			switch {
			case s.Broker != b.ID:
			case s.Value == nil:
				configs = append(configs, kadm.AlterConfig{Op: kadm.DeleteConfig, Name: s.Name})
			default:
				configs = append(configs, kadm.AlterConfig{Op: kadm.SetConfig, Name: s.Name, Value: s.Value})
			}
		}
		if len(configs) == 0 {
			continue
		}
		answers, err := call(ctx, configs, b.ID)
		for _, a := range answers {
			if err == nil {
				err = refuse(a.Err, a.ErrMessage)
			}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("broker %d: %w", b.ID, errorCause(err)))
		}
	}
	return errors.Join(errs...)
}

// LogDirs returns the log directories of all brokers.
func (c *Cluster) LogDirs(ctx context.Context) ([]result.LogDir, error) {
	ctx, cancel := context.WithTimeout(ctx, AdminTimeout)
	defer cancel()
	described, err := c.admin.DescribeAllLogDirs(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("describe the log directories: %w", errorCause(err))
	}
	hosts := make(map[int32]string)
	for _, b := range c.Info.Brokers {
		hosts[b.ID], _, _ = net.SplitHostPort(b.Addr) // kt joined it
	}
	var dirs []result.LogDir
	described.Each(func(d kadm.DescribedLogDir) {
		if d.Err == nil { // else its disk has failed
			dirs = append(dirs, result.LogDir{Broker: d.Broker, Host: hosts[d.Broker], Path: d.Dir, Total: d.TotalBytes, Usable: d.UsableBytes})
		}
	})
	return dirs, nil
}
