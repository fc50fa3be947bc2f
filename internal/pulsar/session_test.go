package pulsar

import (
	"errors"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/run"
)

func TestASubscriptionThatCannotBeDeletedIsTold(t *testing.T) {
	var told string
	s := &session{System: &System{}, own: true, subscriptions: []string{"kt-1"}, seen: errors.New("no admin API"), options: run.Options{Notify: func(n run.Notice) { told = n.Text }}}
	s.Close()
	if !strings.Contains(told, "subscription kt-1") {
		t.Errorf("it says %q", told)
	}
}
