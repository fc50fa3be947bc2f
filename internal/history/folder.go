package history

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/secret"
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

// infos returns the run files, the newest run first. Of runs that began in one second, the file that was changed last is the newest.
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
	slices.SortStableFunc(infos, func(a, b os.FileInfo) int {
		return cmp.Or(began(b).Truncate(time.Second).Compare(began(a).Truncate(time.Second)), b.ModTime().Compare(a.ModTime()), cmp.Compare(b.Name(), a.Name()))
	})
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
	next := make(chan int)
	var readers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(unread)) {
		readers.Go(func() {
			for i := range next {
				runs[i] = read(filepath.Join(f.Dir, infos[i].Name()), infos[i])
			}
		})
	}
	for _, i := range unread {
		next <- i
	}
	close(next)
	readers.Wait()
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

const (
	indexName   = "index.json"
	indexSchema = 1              // an index of another version is not read
	maxIndex    = 64 * input.MiB // 100,000 rows stay below it
)

// index is the file that keeps the rows of a folder.
type index struct {
	Schema int   `json:"schema"`
	Runs   []Run `json:"runs"`
}

// readIndex returns the rows that are known, by the names of their files; none of a damaged index.
func (f Folder) readIndex() map[string]Run {
	data, err := input.Read(filepath.Join(f.Dir, indexName), maxIndex)
	var kept index
	if err != nil || json.Unmarshal(data, &kept) != nil || kept.Schema != indexSchema {
		return nil
	}
	known := make(map[string]Run, len(kept.Runs))
	for _, r := range kept.Runs {
		known[r.Name+Ext] = r
	}
	return known
}

// writeIndex writes the rows of the files that could be read and that no process still writes.
func (f Folder) writeIndex(runs []Run) {
	kept := index{Schema: indexSchema}
	for _, r := range runs {
		if !r.AtWork && r.Problem == "" {
			kept.Runs = append(kept.Runs, r)
		}
	}
	data, err := json.Marshal(kept)
	if err != nil {
		return
	}
	_ = input.ReplaceText(filepath.Join(f.Dir, indexName), 0o600, []byte(secret.ScrubJSON(string(data)))) // without an index the files are read again
}

// Filter chooses runs. The zero Filter chooses all.
type Filter struct {
	Tags    []string     // a run has all of them
	Command plan.Command // "": any
	Topic   string       // one of the run's; "": any
	Since   time.Time    // zero: any
	Valid   bool         // only valid runs
}

// Choose returns the runs that a filter chooses, in their order.
func (f Filter) Choose(runs []Run) []Run {
	return slices.DeleteFunc(slices.Clone(runs), func(r Run) bool {
		lacks := func(tag string) bool { return !slices.Contains(r.Tags, tag) }
		return slices.ContainsFunc(f.Tags, lacks) || f.Command != "" && f.Command != r.Command ||
			f.Topic != "" && f.Topic != r.Topic && !slices.Contains((&plan.Topic{Name: r.Topic}).Names(), f.Topic) ||
			r.StartedAt.Before(f.Since) || f.Valid && (r.Valid == nil || !*r.Valid)
	})
}

// Keep is which runs stay when old ones are removed. Those at work always do.
type Keep struct {
	Newest int       // so many of the newest
	Since  time.Time // those that began then or later
	Tagged bool      // those with a tag, and those that cannot be read: they may have one
}

// Old returns the runs that do not stay, of all runs with the newest first.
func (k Keep) Old(runs []Run) []Run {
	old := slices.Clone(runs[min(k.Newest, len(runs)):])
	return slices.DeleteFunc(old, func(r Run) bool {
		return r.AtWork || !r.StartedAt.Before(k.Since) || k.Tagged && (len(r.Tags) > 0 || r.Problem != "")
	})
}

// ledgerExt ends the name of the ledger that a verified load leaves beside its run file.
const ledgerExt = ".ledger"

// Size returns the bytes of a run file and of its ledger.
func Size(path string) (bytes int64) {
	for _, file := range []string{path, ledgerOf(path)} {
		if info, err := os.Stat(file); err == nil {
			bytes += info.Size()
		}
	}
	return bytes
}

func ledgerOf(path string) string { return strings.TrimSuffix(path, Ext) + ledgerExt }

// Remove removes a run file and its ledger. A run at work is not removed.
func Remove(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("remove %s: %w", path, input.Cause(err))
	}
	defer result.Release(f)
	if !result.TryClaim(f) {
		return fmt.Errorf("remove %s: the run is still at work; stop it first", nameOf(path))
	}
	if err := os.Remove(ledgerOf(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", ledgerOf(path), input.Cause(err))
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("remove %s: %w", path, input.Cause(err))
	}
	return nil
}

// FindKept is Find for a run that is to be removed. It finds only runs of the folder: a path has to be that of a file in it.
func (f Folder) FindKept(paths []string, name string) (string, error) {
	elsewhere := fmt.Errorf("%s: kt removes only runs that it keeps, in %s", name, f.Dir)
	if !strings.ContainsRune(name, filepath.Separator) {
		path, err := Find(paths, name)
		if _, here := os.Lstat(name); here == nil && errors.Is(err, fs.ErrNotExist) {
			return "", elsewhere
		}
		return path, err
	}
	dir, err := filepath.Abs(filepath.Dir(name))
	if err != nil || dir != filepath.Clean(f.Dir) {
		return "", elsewhere
	}
	for _, path := range paths {
		if filepath.Base(path) == filepath.Base(name) {
			return path, nil
		}
	}
	return "", &UnknownError{Name: name, instead: listed}
}
