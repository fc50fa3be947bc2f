package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/plan"
)

// ErrNoClusters is the error of a configuration without a cluster.
var ErrNoClusters = errors.New("there is no cluster in the configuration file: kt config --help shows how to write one")

// Use makes a cluster the one that commands use, by a line in the file of the user, and returns the name of that file.
func (c *Configure) Use(name string, sys System) (string, error) {
	path, asked := sys.userFile(c.typedText("config"))
	if path == "" {
		return "", errors.New("there is no configuration folder: name a file with --config FILE")
	}
	data, err := input.Read(path, input.Settings)
	switch {
	case !asked && errors.Is(err, fs.ErrNotExist):
		return path, ErrNoClusters
	case err != nil:
		return path, fmt.Errorf("%s: %w", path, err)
	}
	f, err := sys.parseFile(path, data, ofUser)
	if err != nil {
		return path, err
	}
	if _, ok := f.clusters[name]; !ok {
		return path, noCluster("", name, f.clusters)
	}
	for _, key := range []string{"bootstrap-server", "broker-list"} {
		if f.parts[""][key] != nil {
			return path, plan.Refuse("", nil, "%s names brokers too, so a cluster and it exclude each other: remove it first", key).From(f.where("", key))
		}
	}
	text, err := useCluster(data, name)
	if err != nil {
		return path, fmt.Errorf("%s: %w", path, err)
	}
	return path, replaceFile(path, text)
}

// clusterLine matches the line of a file that chooses a cluster. Its groups are the key, a comment behind the value, and a
// carriage return.
var clusterLine = regexp.MustCompile(`(?i)^("?cluster"?[ \t]*:)[^#]*?([ \t]+#.*?)?(\r?)$`)

// useCluster returns the text of a file with another cluster chosen. It changes one line, or adds one.
func useCluster(data []byte, name string) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	quoted, err := yaml.Marshal(name)
	if err != nil {
		return nil, err
	}
	value := strings.TrimSpace(string(quoted))
	lines := strings.Split(string(data), "\n")
	at := -1 // of clusters:, and the comment above it
	for _, e := range entriesOf(doc.Content[0]) {
		i := e.line - 1
		if e.key == "cluster" {
			lines[i] = clusterLine.ReplaceAllString(lines[i], "${1} "+strings.ReplaceAll(value, "$", "$$")+"${2}${3}")
			return sameBut(data, []byte(strings.Join(lines, "\n")), name)
		}
		if e.key == clustersKey {
			for at = i; at > 0 && strings.HasPrefix(lines[at-1], "#"); {
				at--
			}
		}
	}
	end := ""
	if strings.HasSuffix(lines[0], "\r") {
		end = "\r"
	}
	lines = slices.Insert(lines, max(at, 0), "cluster: "+value+end)
	return sameBut(data, []byte(strings.Join(lines, "\n")), name)
}

// sameBut returns the new text of a file. It is an error if anything but the chosen cluster differs from the text before.
func sameBut(before, after []byte, name string) ([]byte, error) {
	var was, is map[string]any
	if err := errors.Join(yaml.Unmarshal(before, &was), yaml.Unmarshal(after, &is)); err == nil {
		for key := range was {
			if strings.EqualFold(key, "cluster") {
				was[key] = name
				name = ""
			}
		}
		if name != "" {
			was["cluster"] = name
		}
		if reflect.DeepEqual(was, is) {
			return after, nil
		}
	}
	return nil, errors.New("kt cannot change a file of this form: write cluster: NAME into it by hand")
}

// replaceFile replaces the text of a file. A reader finds the old text or the new one, never a part. A symbolic link stays
// a link.
func replaceFile(path string, text []byte) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: it is no regular file, so kt does not write to it", path)
	}
	return input.ReplaceText(path, info.Mode().Perm(), text)
}
