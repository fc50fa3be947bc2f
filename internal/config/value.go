package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/plan"
)

// decimal is the number of a flag, in any form in which kt prints one: 1500000, 1,500,000 or 1.5M. pflag alone takes 010 for 8, and
// 0x10 for 16.
type decimal struct{ pflag.Value }

// Set reads a number as plan.ParseCount or plan.ParseNumber does.
func (d decimal) Set(s string) error {
	if strings.HasPrefix(d.Type(), "float") {
		if _, err := plan.ParseNumber(s); err != nil {
			return err
		}
		return d.Value.Set(s)
	}
	n, err := plan.ParseCount(s)
	if err != nil {
		return err
	}
	return d.Value.Set(strconv.FormatInt(n, 10))
}

// once is a text that a flag takes one time: a second one would be lost in silence.
type once struct {
	to    *string
	given bool
}

func (o *once) String() string { return *o.to }

// Set refuses another value than the one before.
func (o *once) Set(s string) error {
	if o.given && s != *o.to {
		return fmt.Errorf("%q is given too: give one", *o.to)
	}
	*o.to, o.given = s, true
	return nil
}

// Type returns that of a flag of text, for pflag.
func (o *once) Type() string { return "string" }

// timeOf reads the time of a flag, in seconds if it has no unit. The error of one below least says how it is written: "of 2s or more (4s, 1m)".
func timeOf(to *time.Duration, flag, text string, least time.Duration, how string) (err error) {
	if *to, err = plan.ParseTime(text, time.Second); err != nil || *to < least {
		return fmt.Errorf("--%s %q: write a time %s", flag, text, how)
	}
	return nil
}

// Unfit returns the reason why a flag does not take a value, in a person's words instead
// of Go's. err is what setting the flag returned.
func Unfit(f *pflag.Flag, err error) error {
	switch kind := f.Value.Type(); {
	case kind == "bool":
		return errors.New("it must be true or false")
	case errors.Is(err, strconv.ErrRange):
		return errors.New("it is too large")
	case kind == "stringSlice":
		return errors.New("it must be a list, as A,B")
	}
	var unfit *pflag.InvalidValueError
	if errors.As(err, &unfit) {
		return unfit.Unwrap()
	}
	return err
}
