package secret

import (
	"errors"
	"net/http"
	"testing"
)

func TestCredentialsAreUsedWhereTheirOwnerSaid(t *testing.T) {
	for _, r := range []struct {
		named, address string
		want           bool
	}{
		{"b:9092", "b:9092", true},
		{"b:9092", "b:9093", false},
		{"b:9092", "evil.b:9092", false},
		{"b:9092", "b.evil:9092", false},
		{"b:9092", "B.:09092", true},
		{"PLAINTEXT://b:9092", "b:9092", true},
		{" b:9092 ", "b:9092", true},
		{"b", "b:1", true},
		{"b", "c:1", false},
		{"", "b:1", false},
		{"*.prod.example:9092", "b1.prod.example:9092", true},
		{"*.prod.example:9092", "prod.example:9092", false},
		{"*.prod.example:9092", "b1.prod.example:9093", false},
		{"*.prod.example:9092", "b1.prod.example.evil:9092", false},
		{"*.prod.example:9092", "evil.com/.prod.example:9092", false},
		{"*.prod.example", "a.b.prod.example:9092", false},
		{"b-*.example:9092", "b-17.example:9092", true},
		{"b-*.example", "b-evil:1,x.example", false},
		{"b?.example:9092", "b1.example:9092", false},
		{".*:9092", "evil:9092", false},
		{"10.0.0.*:9092", "10.0.0.7:9092", true},
		{"10.0.0.*:9092", "10.0.0.com:9092", false},
		{"10.0.0.*:9092", "10.0.0.7.evil.com:9092", false},
		{"10.0.*.7", "10.0.1.7:1", true},
		{"*:9092", "any.host.at.all:9092", true},
		{"*:9092", "any:9093", false},
		{"b:*", "b:5", true},
		{"*", "any:1", true},
		{"[fd00::1]:9092", "[FD00:0::1]:9092", true},
		{"fd00::*", "[fd00::2]:9092", true},
		{"fd00::*", "[fe80::2]:9092", false},
		{"localhost:9092", "127.0.0.1:9092", false}, // as text
	} {
		err := Bind([]string{r.named}).Permit(r.address)
		var foreign *BindingError
		if (err == nil) != r.want || err != nil && (!errors.As(err, &foreign) || foreign.Address != r.address) {
			t.Errorf("%q named, to %q: %v, want %v", r.named, r.address, err, r.want)
		}
	}
}

func TestWhatAServerAdvertisesIsLearned(t *testing.T) {
	b := Bind([]string{"a:1"})
	b.Learn("b:2", "http://c:3")
	for addr, want := range map[string]bool{"a:1": true, "b:2": true, "B:2": true, "c:3": true, "b:3": false, "*:2": false} {
		if err := b.Permit(addr); (err == nil) != want {
			t.Errorf("%s: %v", addr, err)
		}
	}
	b.Learn("*")
	if b.Permit("any:1") == nil {
		t.Error("what was learned is a pattern")
	}
}

func TestNoCredentialsGoAnywhere(t *testing.T) {
	var none *Binding
	none.Learn("a:1")
	if err := none.Permit("b:1"); err != nil || !none.Named() {
		t.Error(err)
	}
	if Bind([]string{" "}).Named() || !Bind([]string{"a"}).Named() {
		t.Error("whether an address was named is wrong")
	}
	if err := Stay(nil, nil); !errors.Is(err, http.ErrUseLastResponse) {
		t.Error(err)
	}
}
