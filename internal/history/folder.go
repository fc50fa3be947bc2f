package history

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/kt-bench/kt/internal/result"
)

// Folder is a folder of run files.
type Folder struct{ Dir string }

// Files returns the paths of the run files, the newest run first. A folder that is not there has none.
func (f Folder) Files() ([]string, error) {
	infos, err := f.infos()
	var paths []string
	for _, info := range infos {
		paths = append(paths, filepath.Join(f.Dir, info.Name()))
	}
	return paths, err
}

// infos returns the run files, the newest run first.
func (f Folder) infos() ([]os.FileInfo, error) {
	entries, err := os.ReadDir(f.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var infos []os.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), Ext) && info.Mode().IsRegular() { // else it is being removed
			infos = append(infos, info)
		}
	}
	order(infos)
	return infos, nil
}

// Runs returns the runs, the newest first. Rows of files that have not changed come from the index. The others are
// read, and noted there for the next time.
func (f Folder) Runs() ([]Run, error) {
	infos, err := f.infos()
	if err != nil {
		return nil, err
	}
	known := f.readIndex()
	runs := make([]Run, len(infos))
	var unread []int
	for i, info := range infos {
		if r, ok := known[info.Name()]; ok && r.Bytes == info.Size() && r.Changed.Equal(info.ModTime()) {
			r.Path = filepath.Join(f.Dir, info.Name()) // the folder may have been moved
			runs[i] = r
			continue
		}
		unread = append(unread, i)
	}
	each(unread, func(i int) { runs[i] = read(filepath.Join(f.Dir, infos[i].Name()), infos[i]) })
	for i := range runs {
		runs[i].Reference = Reference(i)
	}
	if len(unread) > 0 || len(known) > len(infos) {
		f.writeIndex(runs)
	}
	return runs, nil
}

// Add notes a finished run in the index, if its file is in the folder, so that it need not be read to be listed. Of two that
// add at once one may be forgotten, and is read later.
func (f Folder) Add(path string, res *result.Result) {
	if f.Dir == "" || filepath.Dir(path) != filepath.Clean(f.Dir) {
		return
	}
	info, err := os.Stat(path)
	if err != nil {
		return // it is read when it is listed, if it is there again
	}
	added := rowOf(path, info)
	added.figures(res)
	kept := []Run{added}
	for name, r := range f.readIndex() {
		if name != info.Name() {
			kept = append(kept, r)
		}
	}
	f.writeIndex(kept)
}

// each calls do for every number, on as many goroutines as there are CPUs.
func each(numbers []int, do func(i int)) {
	next := make(chan int)
	var readers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(numbers)) {
		readers.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for _, i := range numbers {
		next <- i
	}
	close(next)
	readers.Wait()
}
