package merge

import (
	"io"

	"github.com/kt-bench/kt/internal/result"
)

// IsPage reports whether the file is a page that kt made.
func (f *File) IsPage() bool { return result.IsPage(f, f.Size) }

// readPage returns the result of the run that a page holds.
func readPage(r io.ReaderAt, size int64) (result.Result, error) {
	res, err := result.ReadPage(io.NewSectionReader(r, 0, size))
	if err == nil {
		err = (&runFile{header: res.Header}).checkHeader()
	}
	return res, err
}
