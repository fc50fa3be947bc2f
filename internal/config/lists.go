package config

import (
	"fmt"
	"strings"

	"github.com/kt-bench/kt/internal/plan"
)

// listFlags take several values after one flag in Kafka's own tools.
var listFlags = map[string]bool{"--command-property": true, "--producer-props": true, "--topic-config": true, "--header": true}

// ExpandLists repeats a flag for each of the k=v that follow it. Kafka's tools take such lists,
// and pflag does not:
//
//	--producer-props acks=1 linger.ms=5  →  --producer-props acks=1 --producer-props linger.ms=5
//
// A list flag without a value is an error, for the flag parser would take the
// next flag as its value.
func ExpandLists(args []string) ([]string, error) {
	var out []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a == "--" {
			return append(out, args[i:]...), nil
		}
		if !listFlags[a] {
			out = append(out, a)
			continue
		}
		first := i + 1
		for ; i+1 < len(args) && !strings.HasPrefix(args[i+1], "-"); i++ {
			if i+1 > first && !strings.Contains(args[i+1], "=") {
				break // not of the list; the first is, and its error names the missing =
			}
			out = append(out, a+"="+args[i+1])
		}
		if i < first {
			return nil, fmt.Errorf("%s needs at least one key=value after it", a)
		}
	}
	return out, nil
}

// splitProperty cuts key=value at the first "=": values may contain more.
func splitProperty(flag, s string) (key, value string, err error) {
	key, value, ok := strings.Cut(s, "=")
	if key = strings.TrimSpace(key); !ok || key == "" {
		if strings.Contains(flag, "propert") || strings.Contains(flag, "props") {
			return "", "", plan.Refuse(flag, nil, "write key=value; an item has no key, or no =") // it may be of a password
		}
		return "", "", plan.Refuse(flag, s, "write key=value")
	}
	return key, value, nil
}
