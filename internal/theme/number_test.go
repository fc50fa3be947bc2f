package theme

import (
	"math"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/kt-bench/kt/internal/must"
)

func TestRateHasThreeDigitsAndAPrefix(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1: "1", 0.5: "0.5", 3.14159: "3.1", 0.334: "0.33", 42: "42", 99.6: "99.6", 999.4: "999",
		999.6: "1.00k", 1000: "1.00k", 12_345: "12.3k", 826_400: "826k", 999_499: "999k", 999_600: "1.00M",
		1_240_000: "1.24M", 3e9: "3.00G", 2.5e20: "250E", 1e22: "10000E", -1500: "-1.50k",
		math.NaN(): "–", math.Inf(1): "–",
	} {
		must.Match(t, want, Rate(v), "Rate(%v)", v)
	}
	must.Match(t, "–", Rate(math.NaN()), "Rate(NaN)")
}

func TestTickHasNoZerosAtItsEnd(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1e6: "1M", 250e3: "250k", 2500: "2.5k", 1250: "1.25k", 100: "100", 0.5: "0.5", 500: "500"} {
		must.Match(t, want, Tick(v), "Tick(%v)", v)
	}
}

func TestCountIsExactAndInGroups(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 7: "7", 999: "999", 1000: "1,000", 96_100_000: "96,100,000", -1234: "-1,234",
		math.MaxInt64: "9,223,372,036,854,775,807", math.MinInt64: "-9,223,372,036,854,775,808",
	} {
		must.Match(t, want, Count(n), "Count(%d)", n)
	}
}

func TestARateBelowTenHasTwoDigits(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.3: "0.3", 0.4998: "0.5", 0.0123: "0.012", 1.5: "1.5", 2: "2", 9.94: "9.9", 9.96: "10", 99.6: "100", 5999.4: "5,999", -1.26: "-1.3",
		math.NaN(): "–", 1e-9: "0",
	} {
		must.Match(t, want, PerSecond(v), "PerSecond(%v)", v)
	}
}

func TestAnAmountIsACountUnlessItIsSmall(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1: "1", 0.5: "0.5", 42: "42", 99.6: "99.6", 99.97: "100", 999.4: "999", 5998.8: "5,999", 1_240_000: "1,240,000",
		-2000: "-2,000", math.NaN(): "–", math.Inf(1): "–",
	} {
		must.Match(t, want, Amount(v), "Amount(%v)", v)
	}
}

func TestPluralGoesWithTheNumber(t *testing.T) {
	for n, want := range map[float64]string{0: "0 hosts", 0.5: "0.5 hosts", 1: "1 host", 1.5: "1.5 hosts", 2: "2 hosts", 2000: "2,000 hosts", math.MaxInt64: "9,223,372,036,854,774,784 hosts"} {
		must.Match(t, want, Plural(n, "host", "hosts"), "Plural(%v)", n)
	}
	must.Match(t, "1 process", Plural(1, "process", "processes"), "Plural(1, \"process\", \"processes\")")
}

func TestBytesAreInBinaryUnits(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 512: "512 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 32 << 20: "32 MiB",
		31_247_565: "29.8 MiB", 1<<30 - 1: "1 GiB", 5 << 40: "5 TiB", -2048: "-2 KiB", math.MinInt64: "-8 EiB",
	} {
		must.Match(t, want, Bytes(n), "Bytes(%d)", n)
	}
}

func TestMiBHasThreeDigits(t *testing.T) {
	for n, want := range map[float64]string{0: "0.00", 545_260: "0.52", 84_515_225: "80.6", 845_152_256: "806", 8 << 30: "8192"} {
		must.Match(t, want, MiB(n), "MiB(%v)", n)
	}
}

func TestDurationHasThreeDigitsOrTwoUnits(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 312: "312ns", time.Microsecond: "1µs", 438 * time.Microsecond: "438µs", 999_499: "999µs",
		999_500: "1.00ms", 3440 * time.Microsecond: "3.44ms", 20_700 * time.Microsecond: "20.7ms",
		999_499_999: "999ms", 999_500_000: "1.00s", 1200 * time.Millisecond: "1.20s", 59_900 * time.Millisecond: "59.9s",
		59_970 * time.Millisecond: "1m00s", 125 * time.Second: "2m05s", 3599_600 * time.Millisecond: "1h00m",
		3720 * time.Second: "1h02m", 50 * time.Hour: "50h00m", -time.Second: "-1.00s",
	} {
		must.Match(t, want, Duration(d), "Duration(%d)", d)
	}
}

func TestTickDurationHasNoZerosAtItsEnd(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Microsecond: "1µs", 100 * time.Microsecond: "100µs", time.Millisecond: "1ms", 2500 * time.Microsecond: "2.5ms",
		time.Second: "1s", 10 * time.Second: "10s", 15 * time.Second: "15s", time.Minute: "60s", 100 * time.Second: "100s",
		5 * time.Minute: "5m", 1000 * time.Second: "16m40s", time.Hour: "1h00m", 0: "0s",
	} {
		must.Match(t, want, TickDuration(d), "TickDuration(%d)", d)
	}
}

func TestClockCountsSecondsAndHoursOnlyWhenThereAreAny(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "00:00", 57*time.Second + 900*time.Millisecond: "00:57", 2 * time.Minute: "02:00",
		3723 * time.Second: "1:02:03", -time.Second: "00:00",
	} {
		must.Match(t, want, Clock(d), "Clock(%d)", d)
	}
}

func TestPercentNeverRoundsToNothingOrAll(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0%", 0.042: "4.2%", 0.42: "42%", 1: "100%", 0.0003: "0.03%", 0.000001: "<0.01%", 0.1: "10%",
		0.99999: "99.99%", 0.995: "99.5%", 1.25: "125%", -0.1: "-10%",
	} {
		must.Match(t, want, Percent(v), "Percent(%v)", v)
	}
}

func TestSignedHasASignUnlessThereIsNoShare(t *testing.T) {
	for v, want := range map[float64]string{0.042: "+4.2%", -0.042: "-4.2%", 0: "0%", -1: "-100%", math.Inf(1): "–", math.Inf(-1): "–"} {
		must.Match(t, want, Signed(v), "Signed(%v)", v)
	}
}

func TestRatioHasTwoDigits(t *testing.T) {
	for v, want := range map[float64]string{1.75: "1.8x", 0.096: "0.096x", 0.149: "0.15x", 0.999: "1.0x", 0.044: "0.044x", 0.0012: "0.0012x", 0: "0x", 9.96: "10x", 12.4: "12x"} {
		must.Match(t, want, Ratio(v), "Ratio(%v)", v)
	}
	must.Match(t, "–", Ratio(math.Inf(1)), "Ratio(Inf)")
}

// A rate must fit a column of six: five characters, or six with a sign.
func FuzzRateIsShort(f *testing.F) {
	for _, v := range []float64{0, 1, 999.5, 999_499.9, 0.004, 1e-300, 99.949} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v float64) {
		if math.Abs(v) > 1e20 {
			return // there is no prefix for that
		}
		s := Rate(v)
		must.True(t, utf8.RuneCountInString(s) <= 6 && (v < 0 || utf8.RuneCountInString(s) <= 5), "Rate(%v) = %q", v, s)
	})
}

// A duration must fit the columns of the broker table.
func FuzzDurationIsShort(f *testing.F) {
	for _, d := range []int64{0, 1, 999_499, 999_500, 59_949_999_999, 59_950_000_000, math.MinInt64, math.MaxInt64} {
		f.Add(d)
	}
	f.Fuzz(func(t *testing.T, n int64) {
		d := time.Duration(n)
		for _, s := range []string{Duration(d), TickDuration(d), Clock(d)} {
			must.True(t, len(s) != 0 && (d < 0 || d >= 100*time.Hour || utf8.RuneCountInString(s) <= 8), "%d is written %q", d, s)
		}
	})
}
