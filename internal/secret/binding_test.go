package secret

import (
	"errors"
	"net/http"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

func TestCredentialsAreUsedWhereTheirOwnerSaid(t *testing.T) {
	for _, r := range must.Rows[[]struct {
		Named, Address string
		Want           bool
	}](t, "binding") {
		err := Bind([]string{r.Named}).Permit(r.Address)
		var foreign *BindingError
		if (err == nil) != r.Want || err != nil && (!errors.As(err, &foreign) || foreign.Address != r.Address) {
			t.Errorf("%q named, to %q: %v, want %v", r.Named, r.Address, err, r.Want)
		}
	}
}

func TestWhatAServerAdvertisesIsLearned(t *testing.T) {
	b := Bind([]string{"a:1"})
	b.Learn("b:2", "http://c:3")
	for addr, want := range map[string]bool{"a:1": true, "b:2": true, "B:2": true, "c:3": true, "b:3": false, "*:2": false} {
		err := b.Permit(addr)
		must.True(t, (err == nil) == want, "%s: %v", addr, err)
	}
	b.Learn("*")
	must.True(t, b.Permit("any:1") != nil, "what was learned is a pattern")
}

func TestNoCredentialsGoAnywhere(t *testing.T) {
	var none *Binding
	none.Learn("a:1")
	err := none.Permit("b:1")
	must.True(t, err == nil && none.Named(), "%v", err)
	must.True(t, !Bind([]string{" "}).Named() && Bind([]string{"a"}).Named(), "whether an address was named is wrong")
	err = Stay(nil, nil)
	must.True(t, errors.Is(err, http.ErrUseLastResponse), "%v", err)
}
