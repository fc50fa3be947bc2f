package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

func TestAnExpressionMeansTopics(t *testing.T) {
	for expression, want := range map[string]string{
		"a":                         "a",
		"a,b,c":                     "a b c",
		"o-{8..11}":                 "o-8 o-9 o-10 o-11",
		"o-{08..11}.x,z":            "o-08.x o-09.x o-10.x o-11.x z",
		"{000..2}":                  "000 001 002",
		"a-{1..1}":                  "a-1",
		"":                          `!a topic name has 1 to 249`,
		"a,":                        `!"": a topic name has`,
		"a b,c":                     `!"a b": a topic name has`,
		"a-{1..3":                   `!"a-{1..3": write one range, as orders-{00..99}`,
		"a-{1..2}-{1..2}":           `!write one range`,
		"a-{x..y}":                  `!write one range`,
		"a-{5..4}":                  `!"a-{5..4}": the range ends before it begins`,
		"a-{1..3},a-2":              `!topic a-2 is there twice`,
		"a-{1..100001}":             `!more than 100000 topics`,
		"b,a-{1..100000}":           `!more than 100000 topics`,
		"a-{0..999999999}":          `!more than 100000 topics`,
		"a-{1..2},../../etc-{1..2}": `!a topic name has`,
	} {
		names, err := ParseTopics(expression)
		if want, bad := strings.CutPrefix(want, "!"); bad {
			must.True(t, err != nil && strings.Contains(err.Error(), want), "%q: %v, want %q", expression, err, want)
			continue
		}
		must.True(t, err == nil && strings.Join(names, " ") == want, "%q: %v, %v, want %s", expression, names, err, want)
		topic := Topic{Name: expression}
		must.Match(t, len(names) > 1, topic.Several(), expression+" is several")
	}
	names, err := ParseTopics("a-{1..100000}")
	must.True(t, err == nil && len(names) == MaxTopics, "as many as are allowed: %d, %v", len(names), err)
	must.Match(t, "a-{0..99}", NumberedTopics("a", 100), "a number of topics")
}

func TestProducersTakeTurnsAmongTopics(t *testing.T) {
	count := func(p Plan, records, n int) map[int]int {
		counts := make(map[int]int)
		for producer := range p.Producers {
			turns := p.Turns(producer, n)
			for range records {
				counts[turns.Next()]++
			}
		}
		return counts
	}
	p := Plan{Producers: 4, Seed: 1, Topic: Topic{Name: "a,b,c,d"}}
	must.Match(t, "map[0:300 1:300 2:300 3:300]", fmt.Sprint(count(p, 300, 4)), "even")
	must.Match(t, 4, len(count(p, 1, 4)), "one record each")
	must.Match(t, "map[0:600 1:600]", fmt.Sprint(count(p, 300, 2)), "some")
	must.Match(t, "map[0:20]", fmt.Sprint(count(p, 5, 1)), "the first alone")
	p.Topic.Distribution = OwnTopics
	must.Match(t, "map[0:300 1:300 2:300 3:300]", fmt.Sprint(count(p, 300, 4)), "a topic for each producer")
	must.Match(t, "map[0:600 1:600]", fmt.Sprint(count(p, 300, 2)), "two producers for each topic")
	for producer := range p.Producers {
		p, all := Plan{Producers: 4, Topic: p.Topic}, []int{0, 1, 2, 3, 4, 5, 6, 7, 8}
		turns, own := p.Turns(producer, len(all)), Own(&p.Topic, all, producer, 4)
		for range len(own) * 2 {
			must.True(t, slices.Contains(own, turns.Next()), "producer %d of 4 among nine topics", producer)
		}
	}
	two := p
	two.Producers, two.Share = 2, Share{Producer: 2, Producers: 4, Slot: 1, Slots: 2}
	must.Match(t, "map[0:300 1:300]", fmt.Sprint(count(two, 300, 2)), "of topics that no other process has, each has a producer")
	p.Topic.Distribution = "zipf:1"
	hot := count(p, 12_000, 4)
	for rank, share := range []float64{12.0 / 25, 6.0 / 25, 4.0 / 25, 3.0 / 25} { // 1, 1/2, 1/3 and 1/4 of their sum
		got := float64(hot[rank]) / 48_000
		must.True(t, max(got-share, share-got) < 0.01, "topic %d has %.3f of the records, want %.3f", rank, got, share)
	}
}

func TestTopicsThatKafkaTakesForOneAreRefused(t *testing.T) {
	p := good()
	p.Topic.Name = "a.b,c,a_b"
	err := p.Validate()
	must.True(t, err != nil && strings.Contains(err.Error(), "a.b and a_b differ by '.' and '_' only"), "%v", err)
	p.Topic.Name, p.Topic.Partitions = "a-{1..20000}", 100
	err = p.Validate()
	must.True(t, err != nil && strings.Contains(err.Error(), "2000000 partitions in all topics"), "%v", err)
	must.True(t, slices.Equal((&Topic{Name: "a,b"}).Names(), []string{"a", "b"}), "names")
}
