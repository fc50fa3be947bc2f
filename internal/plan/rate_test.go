package plan

import (
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/theme"
)

func TestParseRateReadsRecordsAndBytesASecond(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     Rate
	}{
		{"a bare number is records a second", "50000", Rate{PerSecond: 50_000}},
		{"a rate may be below one record a second", "0.5", Rate{PerSecond: 0.5}},
		{"a rate may be written with an exponent", "1e6", Rate{PerSecond: 1e6}},
		{"thousands may have a prefix", "50k", Rate{PerSecond: 50_000}},
		{"as the screen prints it", "20.0k", Rate{PerSecond: 20_000}},
		{"a capital K", "50K", Rate{PerSecond: 50_000}},
		{"millions", "1.24M", Rate{PerSecond: 1_240_000}},
		{"a decimal multiple is a whole rate", "1.005k", Rate{PerSecond: 1005}},
		{"as the summary prints it", "5,999 records/s", Rate{PerSecond: 5999}},
		{"a prefix and a second", "50k/s", Rate{PerSecond: 50_000}},
		{"bytes as the screen prints them", "2.93 MiB/s", Rate{PerSecond: 2.93 * (1 << 20), Bytes: true}},
		{"blanks around it do not matter", "  50000 ", Rate{PerSecond: 50_000}},
		{"records may say that they are a second", "500/s", Rate{PerSecond: 500}},
		{"a blank before /s does not turn records into bytes", "500 /s", Rate{PerSecond: 500}},
		{"MiB is 1024 times 1024", "100MiB/s", Rate{PerSecond: 100 << 20, Bytes: true}},
		{"GB is 1000 to the third", "1.5 GB/s", Rate{PerSecond: 1.5e9, Bytes: true}},
		{"a blank before /s is fine after a unit", "2KiB /s", Rate{PerSecond: 2048, Bytes: true}},
		{"prefixes may be in any case", "1kiB/S", Rate{PerSecond: 1024, Bytes: true}},
		{"single bytes can be asked for", "12B/s", Rate{PerSecond: 12, Bytes: true}},
		{"a decimal multiple is the whole number that it says", "1.005KB/s", Rate{PerSecond: 1005, Bytes: true}},
		{"-1 sets no target, as in Kafka's own tool", "-1", Unlimited},
		{"unlimited sets no target", "Unlimited", Unlimited},
		{"the largest rate is a thousand million records", "1e9", Rate{PerSecond: 1e9}},
	} {
		got, err := ParseRate(tc.in)
		must.True(t, err == nil && reflect.DeepEqual(got, tc.want), "%s: ParseRate(%q) = %+v, %v; want %+v", tc.name, tc.in, got, err, tc.want)
	}
}

func TestParseRateRefusesWhatIsNoRateAndNamesIt(t *testing.T) {
	for _, tc := range []struct{ name, in, say string }{
		{"nothing", "", "not a rate"},
		{"a word", "fast", "not a rate"},
		{"a number and a word", "5x", "not a rate"},
		{"a prefix alone", "k", "not a rate"},
		{"milli is not million", "1.5m", "not a rate"},
		{"thousands in the wrong groups", "50,00", "not a rate"},
		{"bytes that are not a second", "100MiB", "not a rate"},
		{"a unit without a number", "MiB/s", "not a rate"},
		{"a second of nothing", "/s", "not a rate"},
		{"not a number", "NaN", "not a rate"},
		{"not a number of bytes", "nanMiB/s", "not a rate"},
		{"infinity", "inf", "not a rate"},
		{"a number that float64 does not hold", "1e400", "not a rate"},
		{"bytes that float64 does not hold", "1e308GiB/s", "not a rate"},
		{"zero", "0", "never send"},
		{"zero bytes", "0MiB/s", "never send"},
		{"a negative rate other than -1", "-2", "below 0"},
		{"negative bytes", "-1MB/s", "below 0"},
		{"more records than any client can offer", "1000000001", "above 1000000000 "},
		{"more bytes than any client can offer", "2000GB/s", "above 1024000000000 "},
		{"megabits", "100Mb/s", "counts bits (b): write 100MB/s for bytes, or 12.5MB/s for as many bits"},
		{"gigabits with a blank", "1 Gb/s", "write 1GB/s for bytes, or 0.125GB/s for as many bits"},
		{"all in small letters", "8kib/s", "write 8KiB/s for bytes, or 1KiB/s for as many bits"},
		{"bits without a prefix", "12b/s", "write 12B/s for bytes, or 1.5B/s for as many bits"},
		{"hexadecimal", "0x10p0", "not a rate"},
		{"hexadecimal bytes", "0x1p4MB/s", "not a rate"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := ParseRate(tc.in)
			must.Hold(t, err != nil, "ParseRate(%q) = %+v, want an error", tc.in, got)
			if !strings.Contains(err.Error(), strconv.Quote(tc.in)) || !strings.Contains(err.Error(), tc.say) {
				t.Errorf("ParseRate(%q): %q; want it to name the input and say %q", tc.in, err, tc.say)
			}
			must.True(t, got.IsUnlimited(), "ParseRate(%q) = %+v beside an error", tc.in, got)
		})
	}
}

func TestARateInBytesBecomesRecordsByTheirMeanSize(t *testing.T) {
	for _, tc := range []struct {
		name string
		rate Rate
		mean float64
		want float64
	}{
		{"bytes are divided by the mean size", Rate{PerSecond: 1 << 20, Bytes: true}, 1024, 1024},
		{"records stay records", Rate{PerSecond: 500}, 1024, 500},
		{"no target stays no target", Unlimited, 1024, 0},
	} {
		must.Match(t, tc.want, tc.rate.RecordsPerSecond(tc.mean), "%s: %v.RecordsPerSecond(%v)", tc.name, tc.rate, tc.mean)
	}
}

func TestRatePrintsAsItIsRead(t *testing.T) {
	for _, tc := range []struct {
		name string
		rate Rate
		want string
	}{
		{"no target", Unlimited, "unlimited"},
		{"records", Rate{PerSecond: 50_000}, "50000"},
		{"a part of a record", Rate{PerSecond: 0.1}, "0.1"},
		{"a million without an exponent", Rate{PerSecond: 1e6}, "1000000"},
		{"whole mebibytes", Rate{PerSecond: 100 << 20, Bytes: true}, "100MiB/s"},
		{"one and a half gibibytes", Rate{PerSecond: 1.5 * (1 << 30), Bytes: true}, "1.5GiB/s"},
		{"few bytes", Rate{PerSecond: 12, Bytes: true}, "12B/s"},
	} {
		must.Match(t, tc.want, tc.rate.String(), "%s: %#v.String()", tc.name, tc.rate)
	}
}

// FuzzParseTarget: ParseTarget never panics; a rate that it accepts is Unlimited or
// finite, above 0 and within the limit; printing it and reading it again gives
// the same rate; an error names the input.
func FuzzParseTarget(f *testing.F) {
	for _, s := range []string{"50000", "0.5", "-1", "unlimited", "100MiB/s", "1.5 GB/s", "500 /s", "1e9", "0x1p-2", "1.005KB/s", "nan", "", "10k@1m,50k@2m", "0..1MiB/s@90s", "5@1s,9..3@1h"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseTarget(s)
		if err != nil {
			if !strings.Contains(err.Error(), strconv.Quote(s)) && !strings.ContainsAny(s, "@.,") { // else it names the stage
				t.Fatalf("ParseTarget(%q): %q does not name the input", s, err)
			}
			return
		}
		limit := float64(maxRate)
		if r.Bytes {
			limit *= 1024
		}
		if !r.IsUnlimited() && !(r.PerSecond > 0 && r.PerSecond <= limit) {
			t.Fatalf("ParseTarget(%q) = %+v, outside 0 to %v", s, r, limit)
		}
		again, err := ParseTarget(r.String())
		if err != nil || !reflect.DeepEqual(again, r) {
			t.Fatalf("ParseTarget(%q) = %+v prints as %q, which reads as %+v, %v", s, r, r.String(), again, err)
		}
	})
}

func TestParseBytesReadsUnits(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     int64
	}{
		{"a bare number is bytes", "512", 512},
		{"a zero in front makes no other number", "0512", 512},
		{"bytes may be named", "512B", 512},
		{"KiB is 1024", "64KiB", 65_536},
		{"KB is 1000", "64KB", 64_000},
		{"a part of a unit is fine when it makes whole bytes", "1.5MB", 1_500_000},
		{"a decimal that float64 cannot hold is still whole", "1.005KB", 1_005},
		{"GiB", "1GiB", 1 << 30},
		{"blanks and the case of the prefix do not matter", " 2 miB ", 2 << 20},
		{"nothing at all is a number of bytes too", "0", 0},
		{"the most is what 31 bits hold", "2147483647", math.MaxInt32},
	} {
		got, err := ParseBytes(tc.in)
		must.True(t, err == nil && got == tc.want, "%s: ParseBytes(%q) = %d, %v; want %d", tc.name, tc.in, got, err, tc.want)
	}
}

func TestParseBytesReadsEveryDecimalOfAKilobyte(t *testing.T) {
	for n := int64(1); n < 100_000; n++ {
		s := strconv.FormatFloat(float64(n)/1000, 'f', 3, 64) + "KB"
		if got, err := ParseBytes(s); err != nil || got != n {
			t.Fatalf("ParseBytes(%q) = %d, %v; want %d", s, got, err, n)
		}
	}
}

func TestParseBytesRefusesWhatIsNoNumberOfBytesAndNamesIt(t *testing.T) {
	for _, tc := range []struct{ name, in string }{
		{"nothing", ""},
		{"a unit alone", "KiB"},
		{"a word", "large"},
		{"a unit that kt does not know", "5TiB"},
		{"half a byte", "0.5"},
		{"a byte and a little", "1.0000001"},
		{"less than nothing", "-1"},
		{"more than 31 bits hold", "2147483648"},
		{"more than 31 bits hold, by unit", "2GiB"},
		{"not a number", "NaN"},
		{"infinity", "InfKB"},
		{"more than float64 holds", "1e308GiB"},
		{"bits", "8Kb"},
		{"bits without a prefix", "512b"},
		{"hexadecimal", "0x10p0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := ParseBytes(tc.in)
			must.Hold(t, err != nil, "ParseBytes(%q) = %d, want an error", tc.in, got)
			must.True(t, strings.Contains(err.Error(), strconv.Quote(tc.in)), "ParseBytes(%q): %q does not name the input", tc.in, err)
		})
	}
}

func TestParseCountReadsWholeNumbers(t *testing.T) {
	for in, want := range map[string]int64{
		"0": 0, "7": 7, " 100000 ": 100_000, "1,500,000": 1_500_000, "1_500_000": 1_500_000, "-3": -3,
		"50k": 50_000, "50K": 50_000, "1.5M": 1_500_000, "1.001k": 1001, "2G": 2_000_000_000, "1e6": 1_000_000,
		"9223372036854775807": math.MaxInt64,
	} {
		must.Match(t, want, must.Have(ParseCount(in))(t), "ParseCount(%q)", in)
	}
}

func TestParseCountRefusesWhatIsNoWholeNumber(t *testing.T) {
	for in, say := range map[string]string{
		"": "whole number", "ten": "whole number", "k": "whole number", "1.5": "whole number", "1.0005k": "whole number",
		"1m": "whole number", "1,00": "whole number", "1k5": "whole number", "NaN": "whole number", "Inf": "whole number",
		"10E": "too large", "1e19": "too large",
	} {
		if got, err := ParseCount(in); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("ParseCount(%q) = %d, %v; want an error that says %q", in, got, err, say)
		}
	}
}

func TestWhatIsPrintedCanBeTypedAgain(t *testing.T) {
	for _, n := range []int64{0, 1, 999, 1000, 12_300, 826_000, 1_240_000, 3_000_000_000, 250_000_000_000} {
		for _, text := range []string{theme.Count(n), theme.Rate(float64(n)), theme.Tick(float64(n))} {
			must.Match(t, n, must.Have(ParseCount(text))(t), "ParseCount(%q)", text)
		}
	}
	for _, v := range []float64{0.5, 99.6, 20_000, 50_000, 1_240_000} {
		for _, text := range []string{theme.Rate(v), theme.Tick(v), Rate{PerSecond: v}.String()} {
			if got, err := ParseRate(text); err != nil || got.PerSecond != v {
				t.Errorf("ParseRate(%q) = %v, %v; want %v", text, got, err, v)
			}
		}
	}
}

func TestANameCanStandInAFilesNameAndInAList(t *testing.T) {
	for name, ok := range map[string]bool{
		"nightly": true, "a": true, "7": true, "A.b_c-d": true, "vm14.example.com": true, strings.Repeat("x", 64): true,
		"": false, ".x": false, ".": false, "..": false, `a\b`: false, "a\x00": false, "_x": false, "-x": false, "a b": false, "a/b": false, "a,b": false,
		"a\n": false, "\na": false, "é": false, strings.Repeat("x", 65): false,
	} {
		if err := CheckName(name); (err == nil) != ok {
			t.Errorf("CheckName(%q) = %v", name, err)
		}
	}
}
