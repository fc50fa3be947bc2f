package stats

import (
	"reflect"
	"strings"
	"testing"
)

func TestEveryCounterIsInItsList(t *testing.T) {
	var c Counters
	v, all := reflect.ValueOf(&c).Elem(), c.each()
	if v.NumField() != len(all) {
		t.Fatalf("%d fields, %d in the list", v.NumField(), len(all))
	}
	for i, of := range all {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if of.field != `"`+name+`":` || of.n != v.Field(i).Addr().Interface() {
			t.Errorf("counter %d is %s in the list, and %q in the struct", i, of.field, name)
		}
	}
}
