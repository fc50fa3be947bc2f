package plan

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

func mustSize(t testing.TB, s string) Size {
	t.Helper()
	return must.Have(ParseSize(s))(t)
}

func TestParseSizeReadsEachDistribution(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		max      int
		mean     float64
		fixed    bool
	}{
		{"a number is a fixed size", "512", 512, 512, true},
		{"a fixed size may have a unit", "64KiB", 65_536, 65_536, true},
		{"a range is uniform, both ends included", "100-2000", 2000, 1050, false},
		{"a range may have units", "1KiB-2KiB", 2048, 1536, false},
		{"a range of one size is fixed", "7-7", 7, 7, true},
		{"weights need not add up to 100", "100@3,1000@1", 1000, 325, false},
		{"ranges may be weighted", "1-99@50,200@50", 200, 125, false},
		{"blanks between the sizes do not matter", "100@80, 10KiB@20", 10_240, 2128, false},
		{"a normal distribution is cut at six deviations", "normal:1024,100", 1624, 1024, false},
		{"a normal distribution cut at 1 byte has a higher mean", "normal:100,200", 1300, 139.869, false},
		{"the smallest size is a byte", "1", 1, 1, true},
		{"the largest size is 1 GiB", "1GiB", MaxRecordSize, MaxRecordSize, true},
	} {
		z := mustSize(t, tc.in)
		if z.Max() != tc.max || math.Abs(z.Mean()-tc.mean) > 1e-3 || z.Fixed() != tc.fixed {
			t.Errorf("%s: ParseSize(%q): max %d, mean %v, fixed %v; want %d, %v, %v", tc.name,
				tc.in, z.Max(), z.Mean(), z.Fixed(), tc.max, tc.mean, tc.fixed)
		}
	}
}

func TestParseSizeRefusesWhatIsNoSizeAndNamesIt(t *testing.T) {
	for _, tc := range []struct{ name, in, say string }{
		{"nothing", "", "write 512"},
		{"a word", "big", "write 512"},
		{"no bytes", "0", "from 1 byte"},
		{"more than 1 GiB", "1073741825", "from 1 byte"},
		{"a range that goes down", "2000-100", "2000 is above 100"},
		{"a range without an end", "100-", "write 512"},
		{"a range of three", "1-2-3", "write 512"},
		{"several sizes without weights", "100,200", "needs a weight"},
		{"several sizes, one without a weight", "100@5,200", "needs a weight"},
		{"a weight of nothing", "100@0,200@1", "not a weight"},
		{"a negative weight", "100@-1,200@1", "not a weight"},
		{"a weight that is no number", "100@many", "not a weight"},
		{"a weight that is not a number", "100@NaN", "not a weight"},
		{"an endless weight", "100@Inf", "not a weight"},
		{"weights that add up to infinity", "1@1e308,2@1e308", "not a weight"},
		{"a normal distribution without a deviation", "normal:100", "MEAN,STDDEV"},
		{"a normal distribution without deviation", "normal:100,0", "from 1 byte"},
		{"a normal distribution that reaches too far", "normal:1GiB,1", "over 1073741824"},
		{"a comma too many", "100@1,", "needs a weight"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			z, err := ParseSize(tc.in)
			must.Hold(t, err != nil, "ParseSize(%q) = %v, want an error", tc.in, z)
			if !strings.Contains(err.Error(), strconv.Quote(tc.in)) || !strings.Contains(err.Error(), tc.say) {
				t.Errorf("ParseSize(%q): %q; want it to name the input and say %q", tc.in, err, tc.say)
			}
		})
	}
}

func TestTheSmallestSizeIsToldWhereThereIsOne(t *testing.T) {
	for text, want := range map[string]int{
		"512": 512, "100-2000": 100, "100@80,7-9@20,50@1": 7, "normal:1024,200": 0, "": 0,
	} {
		var z Size
		if text != "" {
			z = mustSize(t, text)
		}
		if got, ok := z.Min(); got != want || ok != (want > 0) {
			t.Errorf("%q: Min is %d, %t; want %d", text, got, ok, want)
		}
	}
}

func TestFixedSizeIsWhatParseSizeMakes(t *testing.T) {
	if got, want := FixedSize(512), mustSize(t, "512"); !reflect.DeepEqual(got, want) {
		t.Errorf("FixedSize(512) = %+v, ParseSize gives %+v", got, want)
	}
}

func TestTableFollowsItsDistribution(t *testing.T) {
	const n = 100_000
	for _, tc := range []struct {
		name, size string
		min, max   int
	}{
		{"uniform", "100-2000", 100, 2000},
		{"normal", "normal:1024,200", 1, 2224},
		{"normal, cut at 1 byte", "normal:100,200", 1, 1300},
		{"normal about a single byte", "normal:1,50", 1, 301},
		{"weighted sizes", "100@80,10KiB@20", 100, 10_240},
		{"weighted ranges", "1-10@1,1000-2000@2,5000@3", 1, 5000},
		{"uneven weights", "10@0.001,20@99", 10, 20},
	} {
		t.Run(tc.name, func(t *testing.T) {
			z := mustSize(t, tc.size)
			sizes := draws(z, n, 42)
			var sum, squares float64
			for _, v := range sizes {
				must.Hold(t, v >= tc.min && v <= tc.max, "%d is outside %d to %d", v, tc.min, tc.max)
				sum += float64(v)
				squares += float64(v) * float64(v)
			}
			mean := sum / n
			sigma := math.Sqrt((squares/n - mean*mean) / n)
			// Rounding to whole bytes moves a mean by less than the half byte.
			if off := math.Abs(mean - z.Mean()); off > 5*sigma+0.5 {
				t.Errorf("the mean of those drawn is %.2f, Mean is %.2f: %.1f standard errors off", mean, z.Mean(), off/sigma)
			}
		})
	}
}

func TestASizeDrawsBothEndsOfARange(t *testing.T) {
	sizes := draws(mustSize(t, "5-8"), 1000, 1)
	if got := []int{slices.Min(sizes), slices.Max(sizes)}; got[0] != 5 || got[1] != 8 {
		t.Errorf("drawn from %d to %d, want 5 to 8", got[0], got[1])
	}
}

func TestSizesAreDeterminedByItsSeed(t *testing.T) {
	z := mustSize(t, "100-2000")
	must.Match(t, draws(z, 1000, 7), draws(z, 1000, 7), "one seed gave two lists")
	must.True(t, !slices.Equal(draws(z, 1000, 7), draws(z, 1000, 8)), "two seeds gave one list")
}

// FuzzParseSize: ParseSize never panics; a size that it accepts is at least 1
// byte and at most MaxRecordSize, as are its mean and all that it draws; printing
// it and reading it again gives the same size; an error names the input.
func FuzzParseSize(f *testing.F) {
	for _, s := range []string{
		"512", "64KiB", "100-2000", "normal:1024,200", "normal:1,50", "100@80,10KiB@20", "1-9@3,20@1e9",
		"1@1e308,2@1e308", "5@1e-320", "1e3", " 7 ", "",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		z, err := ParseSize(s)
		if err != nil {
			must.Hold(t, strings.Contains(err.Error(), strconv.Quote(s)), "ParseSize(%q): %q does not name the input", s, err)
			return
		}
		must.Hold(t, !z.IsZero() && z.Max() >= 1 && z.Max() <= MaxRecordSize, "ParseSize(%q): max %d", s, z.Max())
		if m := z.Mean(); !(m > 0.999999 && m < float64(z.Max())*1.000001) {
			t.Fatalf("ParseSize(%q): mean %v, max %d", s, m, z.Max())
		}
		for _, v := range draws(z, 64, 1) {
			must.Hold(t, v >= 1 && v <= z.Max(), "ParseSize(%q) draws %d, max %d", s, v, z.Max())
		}
		if again, err := ParseSize(z.String()); err != nil || !reflect.DeepEqual(again, z) {
			t.Fatalf("ParseSize(%q) prints as %q, which reads as %+v, %v", s, z.String(), again, err)
		}
	})
}

// draws are n sizes from a seed.
func draws(z Size, n int, seed uint64) []int {
	rng := rand.New(rand.NewPCG(seed, 0))
	sizes := make([]int, n)
	for i := range sizes {
		sizes[i] = z.Draw(rng)
	}
	return sizes
}
