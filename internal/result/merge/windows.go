package merge

import (
	"context"
	"errors"
	"io"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// Windows calls each for the windows of a run file in their order, or for the merged ones of a collection, until it returns
// an error. Read has to have read the file.
func Windows(r io.ReaderAt, size int64, each func(w *stats.Window) error) error {
	if !isCollection(r, size) {
		for l, err := range result.NewLines(io.NewSectionReader(r, 0, size), 0).All() {
			if err == nil && l.Window != nil {
				err = each(l.Window)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	s, err := readSet(r, size)
	if err != nil {
		return err
	}
	if _, err := s.Result(context.Background()); err != nil { // from here on, corrupt files end where they are damaged
		return err
	}
	var failed error
	_, err = s.merge(context.Background(), func(w *stats.Window) {
		if failed == nil {
			failed = each(w)
		}
	})
	return errors.Join(err, failed)
}
