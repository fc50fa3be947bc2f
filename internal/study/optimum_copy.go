package study

import (
	"strconv"
	"strings"
	"time"
)

// Copied are settings as texts to copy. What is no flag or property stands there as a comment.
type Copied struct {
	Properties string `json:"properties"` // of the clients, as a client.properties
	Flags      string `json:"flags"`      // of kt produce and the like; of a workload of kt run
	YAML       string `json:"yaml"`       // a section of kt's configuration file; of a workload the load of a study's file
}

// copied returns the values of a cell as texts. Values that are as they were say nothing.
func (s *Study) copied(at []Flag) (c Copied) {
	l, section, comments, outside := &s.Loads[0], s.Loads[0].Command+":\n", "", ""
	if l.IsWorkload() {
		section = "load:\n  command: run\n  file: " + l.File + "\n"
	}
	var flags, topic, heads []string
	lines := make(map[string]string) // of properties, by what is above them
	for i, f := range at {
		client, flag, text := s.Factors[i].Client, "--"+f.Name+" "+f.Value, f.Name+"="+f.Value
		setting, ofTopic := strings.CutPrefix(text, topicPrefix)
		switch load, _, isOf := strings.Cut(f.Name, "."); {
		case f.Value == Default:
			continue
		case isOutside(f.Name):
			outside += "# " + text + "\n"
			continue
		case l.IsWorkload() && isOf:
			client = load + " " + client
			fallthrough
		case l.IsWorkload():
			flag, ofTopic = "--set "+text, false
		case ofTopic:
			flag, topic = "--topic-config "+setting, append(topic, setting)
		}
		if flags = append(flags, flag); !ofTopic {
			c.YAML += "  " + f.Name + ": " + f.Value + "\n"
		}
		if s.Factors[i].Property == "" {
			comments += "# " + text + "\n"
			continue
		}
		heads = append(heads, client)
		lines[client] += s.Factors[i].property(f.Value)
	}
	for _, client := range once(heads) {
		c.Properties += "# " + client + "\n" + lines[client]
	}
	if len(topic) > 0 {
		c.YAML += "  topic-config: [" + strings.Join(topic, ", ") + "]\n"
	}
	if c.YAML != "" {
		c.YAML = section + c.YAML
	}
	c.Properties, c.Flags, c.YAML = c.Properties+comments+outside, strings.Join(flags, " "), c.YAML+outside
	return c
}

// property returns a value as lines of a file of properties.
func (f *Factor) property(value string) string {
	n, of, err := parseQuantity(value)
	codec, level, isLevel := strings.Cut(value, ":")
	switch {
	case isLevel:
		value = codec + "\n" + strings.TrimSuffix(f.Property, "type") + codec + ".level=" + level
	case err == nil && of.name == "time":
		value = strconv.FormatInt(n/int64(time.Millisecond), 10)
	case err == nil:
		value = strconv.FormatInt(n, 10)
	}
	return f.Property + "=" + value + "\n"
}
