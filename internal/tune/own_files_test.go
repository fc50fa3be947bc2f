package tune

import (
	"strings"
	"testing"
)

func TestLinesAboutTheSameTakeEachOthersPlace(t *testing.T) {
	unit := DropIn("kafka.service")
	for _, row := range []struct {
		name, file, a, b string
		want             bool
	}{
		{"one setting with two values", SysctlFile, "vm.swappiness = 1", "vm.swappiness=10", true},
		{"two settings", SysctlFile, "vm.swappiness = 1", "vm.overcommit_memory = 1", false},
		{"the two of a dirty limit", SysctlFile, "vm.dirty_ratio = 60", "vm.dirty_bytes = 8589934592", true},
		{"two dirty limits", SysctlFile, "vm.dirty_ratio = 60", "vm.dirty_background_ratio = 5", false},
		{"one file with two values", TmpfilesFile, "w /sys/a - - - - never", "w  /sys/a - - - - madvise", true},
		{"two files", TmpfilesFile, "w /sys/a - - - - never", "w /sys/b - - - - never", false},
		{"one disk's attribute", UdevFile, `ENV{ID_WWN}=="0x1", ATTR{queue/scheduler}="none"`, `ENV{ID_WWN}=="0x1", ATTR{queue/scheduler}="bfq"`, true},
		{"two attributes of a disk", UdevFile, `ENV{ID_WWN}=="0x1", ATTR{queue/scheduler}="none"`, `ENV{ID_WWN}=="0x1", ATTR{queue/nomerges}="0"`, false},
		{"an attribute of two disks", UdevFile, `ENV{ID_WWN}=="0x1", ATTR{queue/scheduler}="none"`, `ENV{ID_WWN}=="0x2", ATTR{queue/scheduler}="none"`, false},
		{"a user's limit", LimitsFile, "kafka soft nofile 100000", "kafka soft nofile 500000", true},
		{"a user's two limits", LimitsFile, "kafka soft nofile 100000", "kafka hard nofile 100000", false},
		{"a unit's limit", unit, "LimitNOFILE=100000", "LimitNOFILE=500000", true},
		{"a unit's two limits", unit, "LimitNOFILE=100000", "LimitNPROC=100000", false},
	} {
		a, b := lineName(row.file, row.a), lineName(row.file, row.b)
		if (a == b) != row.want {
			t.Errorf("%s: lineName(%q) = %q, lineName(%q) = %q; want them to be one: %t", row.name, row.a, a, row.b, b, row.want)
		}
	}
}

func TestHeadsStandOnceBeforeTheirLines(t *testing.T) {
	f := ownFile{Lines: []Line{{"", "a=1", "[Service]"}, {"", "b=1", "[Unit]"}, {"", "c=1", ""}, {"", "d=1", "[Service]"}}}
	want := "c=1\n[Service]\na=1\nd=1\n[Unit]\nb=1\n"
	got := f.content(ownHeader)
	_, rest, _ := strings.Cut(got, "\n")
	if _, rest, _ = strings.Cut(rest, "\n"); rest != want {
		t.Errorf("content =\n%s\nwant after its two lines\n%s", got, want)
	}
	if !sumHolds(got) {
		t.Errorf("content =\n%s\nwhose sum does not hold", got)
	}
	if sumHolds(strings.Replace(got, "a=1", "a=2", 1)) {
		t.Error("the sum holds of an edited file")
	}
}
