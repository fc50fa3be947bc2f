package cmd

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/tune"
)

func TestTheReadmeTellsHowManyChecksThereAre(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf(" %d checks", len(tune.Catalogue())); !strings.Contains(string(text), want) {
		t.Errorf("README.md does not say %s", want)
	}
}
