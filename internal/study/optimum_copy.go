package study

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Copied are settings as texts to copy. What is no flag or property stands there as a comment.
type Copied struct {
	Properties string `json:"properties"` // of the clients, as a client.properties
	Flags      string `json:"flags"`      // of kt produce and the like; of a workload of kt run
	YAML       string `json:"yaml"`       // a section of kt's configuration file; of a workload the load of a study's file
}

// copied returns the values of a cell as texts. Values that are as they were say nothing.
func (s *Study) copied(at []Flag) (c Copied) {
	l := &s.Loads[0]
	keys, lines, heads, comments := make(map[string]any), make(map[string][]string), []string{}, ""
	if l.IsWorkload() {
		keys["command"], keys["file"] = l.Command, l.File
	}
	var flags, topic []string
	for i, f := range at {
		setting, ofTopic := strings.CutPrefix(f.Name, topicPrefix)
		switch {
		case f.Value == Default:
			continue
		case isOutside(f.Name):
			comments += "# " + f.Name + "=" + f.Value + "\n"
			continue
		case l.IsWorkload():
			flags, keys[f.Name] = append(flags, "--set "+f.Name+"="+f.Value), f.Value
		case ofTopic:
			topic = append(topic, setting+"="+f.Value)
			flags, keys["topic-config"] = append(flags, "--topic-config "+setting+"="+f.Value), topic
		default:
			flags, keys[f.Name] = append(flags, "--"+f.Name+" "+f.Value), f.Value
		}
		factor := &s.Factors[i]
		load, _, isOf := strings.Cut(f.Name, ".")
		head := "# " + strings.TrimSpace(map[bool]string{true: load + " "}[isOf && l.IsWorkload()]+factor.Client)
		if factor.Property == "" {
			comments += "# " + f.Name + "=" + f.Value + "\n"
			continue
		}
		if !slices.Contains(heads, head) {
			heads = append(heads, head)
		}
		lines[head] = append(lines[head], factor.property(f.Value)...)
	}
	for _, head := range heads {
		c.Properties += strings.Join(append([]string{head}, lines[head]...), "\n") + "\n"
	}
	c.Properties += comments
	var text []byte
	if len(flags) > 0 {
		text, _ = yaml.Marshal(map[string]any{map[bool]string{true: "load", false: l.Command}[l.IsWorkload()]: keys}) // of texts alone
	}
	c.Flags, c.YAML = strings.Join(flags, " "), string(text)
	for line := range strings.Lines(comments) {
		if isOutside(strings.TrimPrefix(line, "# ")) {
			c.YAML += line
		}
	}
	return c
}

// property returns a value as lines of a file of properties.
func (f *Factor) property(value string) []string {
	n, of, err := parseQuantity(value)
	codec, level, isLevel := strings.Cut(value, ":")
	switch {
	case isLevel:
		return []string{f.Property + "=" + codec, strings.TrimSuffix(f.Property, "type") + codec + ".level=" + level}
	case err == nil && of.name == "time":
		value = strconv.FormatInt(n/int64(time.Millisecond), 10)
	case err == nil:
		value = strconv.FormatInt(n, 10)
	}
	return []string{f.Property + "=" + value}
}
