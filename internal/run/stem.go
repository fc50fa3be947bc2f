package run

import (
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/plan"
)

const (
	maxStem = 220 // bytes: the name of a file has 255 at most, and a time, a number and an ending come on top
	maxWord = 32  // bytes of a word about the load, so that the topic stays readable
)

// Stem returns the part of a run file's name that names the load: what it did, on which topic, at which rate, with
// which acks (of a load that writes) or in which group, and its first tag. A long topic is cut, and never the rest.
//
//	produce-orders-50k-acks-all-nightly
func Stem(p *plan.Plan, acks string, tags []string) string {
	topic := p.Topic.Name // with letters, digits, '.', '_' and '-' only: plan.CheckTopic
	if topic == "" {
		topic = "topics" // that match a pattern, which would be no name for a file
	}
	var words []string
	if r := p.Load.Rate; !r.IsUnlimited() {
		words = append(words, rateWord(r))
	}
	switch {
	case p.Writes() && acks != "":
		words = append(words, "acks-"+acks)
	case !p.Writes() && p.Read.Group != "" && !strings.HasPrefix(p.Read.Group, plan.OwnGroup):
		words = append(words, "group-"+p.Read.Group)
	}
	if len(tags) > 0 {
		words = append(words, tags[0])
	}
	rest := ""
	for _, word := range words {
		rest += "-" + safe(word)
	}
	begin := string(p.Command) + "-"
	return begin + topic[:min(len(topic), maxStem-len(begin)-len(rest))] + rest
}

// rateWord returns a rate in few characters: 50k, 100MiB.
func rateWord(r plan.Rate) string {
	if len(r.Stages) > 0 {
		return "stages"
	}
	if r.Bytes {
		return strings.TrimSuffix(r.String(), "/s")
	}
	for _, u := range []struct {
		suffix string
		factor float64
	}{{"M", 1e6}, {"k", 1e3}} {
		if r.PerSecond >= u.factor {
			return strconv.FormatFloat(r.PerSecond/u.factor, 'g', 4, 64) + u.suffix
		}
	}
	return strconv.FormatFloat(r.PerSecond, 'g', 4, 64)
}

// safe returns a word that any file system takes in a name, and a shell without quotes.
func safe(word string) string {
	word = strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-' {
			return c
		}
		return '-'
	}, word)
	return word[:min(len(word), maxWord)]
}
