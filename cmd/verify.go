package cmd

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
)

// stampRun is the run's id as the stamps carry it.
func stampRun(id string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(id))
	return h.Sum64()
}

// readLedger reads the ledger that `kt consume --verify` is given.
func (l *load) readLedger() error {
	if l.LedgerFile == "" {
		return nil
	}
	f, err := input.Open(l.LedgerFile)
	if err != nil {
		return fmt.Errorf("--verify %s: %w", l.LedgerFile, err)
	}
	defer func() { _ = f.Close() }() // it was only read
	book, err := ledger.Read(f)
	if err != nil {
		return fmt.Errorf("--verify: read ledger %s: %w", l.LedgerFile, err)
	}
	if err := plan.CheckTopic(book.Topic); err != nil { // whoever wrote the file: it is printed, and goes into a path
		return fmt.Errorf("--verify %s: it is the ledger of topic %.60q: %w", l.LedgerFile, book.Topic, err)
	}
	switch p := &l.Plan; {
	case p.Topic.Name == "" && p.Read.Include == "":
		p.Topic.Name = book.Topic
	case p.Read.Include != "" || p.Topic.Name != book.Topic:
		return fmt.Errorf("--verify %s: it is the ledger of topic %s: read that one", l.LedgerFile, book.Topic)
	}
	l.book = book
	return nil
}

// checkBook checks that the topic is still the one that the ledger is about, and
// that it keeps what is written to it.
func (l *load) checkBook(t result.Topic) error {
	if (l.book != nil || l.Plan.Verify) && strings.Contains(t.Configs["cleanup.policy"], "compact") {
		return fmt.Errorf("--verify: topic %s is compacted (cleanup.policy=%s): records that a later one replaces are meant to go", t.Name, t.Configs["cleanup.policy"])
	}
	if l.book == nil || l.book.TopicID == "" {
		return nil
	}
	if l.book.TopicID != t.ID {
		return fmt.Errorf("--verify %s: topic %s was deleted and made again since: none of the ledger's records can be there", l.LedgerFile, t.Name)
	}
	l.book.SameTopic = true
	return nil
}

// newBook opens the account of what this run writes.
func (r *runner) newBook(ctx context.Context, id string) (*ledger.Book, error) {
	t := r.target.topic()
	ends, epochs, err := r.target.cluster.Ends(ctx, *t)
	if err != nil {
		return nil, fmt.Errorf("find the last offsets of topic %s: %w", t.Name, err)
	}
	return &ledger.Book{
		Run: stampRun(id), Topic: t.Name, TopicID: t.ID, SameTopic: true, Start: ends, StartEpochs: epochs,
		Idempotent: r.load.producer.Idempotent(), Acks: r.load.producer.Acks(), Retries: r.load.producer.Retries(),
	}, nil
}

// account closes the books: what was written goes into the ledger file, and what was
// read is held against it.
func (r *runner) account(ctx context.Context) (*ledger.Verdict, error) {
	if r.book == nil {
		return nil, nil
	}
	var err error
	if r.producer != nil {
		r.book.Lanes = r.producer.Lanes()
		err = r.writeLedger()
	}
	if r.consumer == nil || !r.verifies() {
		return nil, err
	}
	readings, unknown := r.consumer.Readings(ctx)
	if unknown != nil {
		r.env.say("what the logs of some partitions hold is not known, so their records count as unchecked: %s", strings.Join(problems(once(unknown)), "; "))
	}
	v := r.book.Verify(readings...)
	if v.OfAnotherRun {
		err = errors.Join(err, fmt.Errorf("--verify %s: the topic holds records of another run and none of this ledger's", r.load.LedgerFile))
	}
	return &v, err
}

// readsAgain says that kt reads partitions again before it judges.
func (r *runner) readsAgain(partitions int) {
	if !r.load.Quiet {
		r.env.say("logs were cut off below what had been read (partitions: %d): reading those again", partitions)
	}
}

// verifies tells whether what is read is held against a ledger.
func (r *runner) verifies() bool { return r.load.Plan.Verify || r.load.book != nil }

// writeLedger leaves the ledger of a run that --verify asked for.
func (r *runner) writeLedger() error {
	path := r.ledgerPath()
	if path == "" {
		return nil
	}
	err := ledger.WriteFile(path, r.book)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("ledger %s: it was made while the run went on, and kt does not overwrite ledgers", path)
	}
	if err != nil {
		return fmt.Errorf("ledger %s: %w", path, cause(err))
	}
	if !r.load.Quiet {
		r.env.say("ledger %s; check the topic against it with: kt consume --verify %s --bootstrap-server %s",
			path, path, strings.Join(r.target.bootstrap, ","))
	}
	return nil
}

// ledgerPath is where the ledger goes: where the user wants it, else beside the run
// file; "" when there is none.
func (r *runner) ledgerPath() string {
	switch {
	case !r.load.Plan.Verify || !r.load.Plan.Writes(), r.load.part != nil: // it is of one process
		return ""
	case r.load.Ledger != "":
		return r.load.Ledger
	case r.file.path == "":
		return ""
	}
	return strings.TrimSuffix(r.file.path, filepath.Ext(r.file.path)) + ".ledger"
}

// checkLedger checks, before anything is made, that the ledger can be left.
func (r *runner) checkLedger() error {
	path := r.ledgerPath()
	if path == "" {
		if r.load.Plan.Verify && !r.load.Plan.Reads() {
			return errors.New("--verify: there is no run file that the ledger could lie beside; name it with --ledger FILE")
		}
		return nil
	}
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("--ledger %s: it exists, and kt does not overwrite ledgers; name another file or remove it", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".kt-*")
	if err != nil {
		return fmt.Errorf("--ledger %s: %w", path, cause(err))
	}
	return errors.Join(f.Close(), os.Remove(f.Name())) // it was only to see whether one can be made
}
