package cmd

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/tune"
)

// newDocs writes documents that are made from the code; scripts/docs.sh calls it.
func newDocs(env *Env) *cobra.Command {
	docs := &cobra.Command{Use: "docs", Short: "Write kt's generated documents", Hidden: true}
	docs.AddCommand(&cobra.Command{
		Use: "man DIR", Short: "Write the man pages", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			root := c.Root()
			root.DisableAutoGenTag = true
			return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "kt", Manual: "kt", Date: sourceDate(env.Getenv)}, args[0])
		},
	})
	docs.AddCommand(&cobra.Command{
		Use: "tune FILE", Short: "Write the page about what kt tune checks", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := tuneProfiles()
			if err != nil {
				return err
			}
			var page bytes.Buffer
			if err := report.TuneManual(&page, tune.Catalogue(), all); err != nil {
				return err
			}
			return os.WriteFile(args[0], page.Bytes(), 0o644)
		},
	})
	docs.AddCommand(&cobra.Command{
		Use: "studies FILE", Short: "Put the list of studies into a page", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return writeStudies(args[0]) },
	}, &cobra.Command{
		Use: "study-schema FILE", Short: "Write the JSON schema of a study's file", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return writeStudySchema(c.Root(), args[0]) },
	})
	docs.AddCommand(&cobra.Command{
		Use: "security FILE", Short: "Put the table of security properties into a page", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return writeSecurity(args[0]) },
	}, &cobra.Command{
		Use: "properties FILE", Short: "Put the tables of client properties into a page", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return writeProperties(args[0]) },
	})
	return docs
}

// sourceDate returns the date for generated pages: SOURCE_DATE_EPOCH, so that two
// builds of one source are alike, or a fixed day.
func sourceDate(getenv func(string) string) *time.Time {
	t := time.Unix(0, 0).UTC()
	if n, err := strconv.ParseInt(getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
		t = time.Unix(n, 0).UTC()
	}
	return &t
}
