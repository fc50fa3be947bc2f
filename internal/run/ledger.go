package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// ReadBook reads the ledger of an earlier run, whose records a plan is to look for. A plan
// that names no topic gets the ledger's. One whose engine nobody chose gets the engine that can tell the records apart.
func ReadBook(path string, p *plan.Plan, engineChosen bool) (*ledger.Book, error) {
	f, err := input.Open(path)
	if err != nil {
		return nil, fmt.Errorf("--verify %s: %w", path, err)
	}
	defer func() { _ = f.Close() }() // it was only read
	book, err := ledger.Read(f)
	if err != nil {
		return nil, fmt.Errorf("--verify: read ledger %s: %w", path, err)
	}
	names := book.Names()
	whole := strings.Join(names, ",")
	parsed, err := plan.ParseTopics(whole) // anybody may have written the file, and the names go into a path
	if err == nil && !slices.Equal(parsed, names) {
		err = errors.New("its names are not those of topics")
	}
	if err != nil {
		return nil, fmt.Errorf("--verify %s: it is the ledger of topic %.60q: %w", path, whole, err)
	}
	if p.Topic.Name == "" && p.Read.Include == "" {
		p.Topic.Name = whole
	}
	if p.Read.Mirror {
		return book, mirrored(book, path, p)
	}
	if !slices.Equal(p.Topic.Names(), names) {
		of := "topic " + names[0] + ": read that one"
		if n := len(names); n > 1 {
			of = fmt.Sprintf("%d topics, from %s to %s in its order: leave --topic and --include out", n, names[0], names[n-1])
		}
		return nil, fmt.Errorf("--verify %s: it is the ledger of %s", path, of)
	}
	if book.Headers {
		if err := readHeaders(path, p, engineChosen); err != nil {
			return nil, err
		}
	}
	return book, nil
}

// mirrored makes a book that of copies of its topics, which have the names of the plan.
func mirrored(book *ledger.Book, path string, p *plan.Plan) error {
	copies := p.Topic.Names()
	switch n, of := len(copies), len(book.Topics); {
	case book.Headers:
		return fmt.Errorf("--mirror: the records of ledger %s are known by the producer ids in the headers of their batches, and a mirror writes with its own: add --stamp to kt produce --verify", path)
	case n != of:
		return fmt.Errorf("--mirror: --topic has %s, and ledger %s is of %s: name the copies in its order, that of %s first", theme.Plural(n, "name", "names"), path, theme.Plural(of, "topic", "topics"), book.Topics[0].Name)
	}
	book.OfMirror(copies, p.Read.Repartitioned)
	return nil
}

// readHeaders lets a plan read with the wire engine, the only one that sees the headers of batches.
func readHeaders(path string, p *plan.Plan, engineChosen bool) error {
	refuse := func(flag, value, why string) error {
		return fmt.Errorf("--%s %s: the records of ledger %s are known by the headers of their batches, which --engine wire alone sees%s", flag, value, path, why)
	}
	const noGroup = ", and it reads without a group: leave the group out"
	switch {
	case engineChosen && p.Engine != plan.Wire:
		return refuse("engine", string(p.Engine), ": leave --engine out")
	case p.Read.Groups > 1:
		return refuse("groups", strconv.Itoa(p.Read.Groups), noGroup)
	case p.Read.Group != "":
		return refuse("group", p.Read.Group, noGroup)
	}
	p.Engine = plan.Wire
	return nil
}

// checkBook checks that the topics that were found are those of the ledger, by their ids. A system without ids gives none.
func (m *maker) checkBook(found []result.Topic) error {
	if m.Book == nil {
		return nil
	}
	for i, t := range found {
		if of := m.Book.Topics[i].Partitions; m.Book.Mirror && !m.Book.Repartitioned && t.Partitions != of {
			return result.Misfit("--mirror: topic %s has %s, and its source had %d: add --repartitioned, and the order is not checked",
				t.Name, theme.Plural(t.Partitions, "partition", "partitions"), of).About("mirror")
		}
	}
	var again []string
	m.Book.SameTopic = true
	anew := func(i int) bool { return m.Book.Topics[i].ID != "" && m.Book.Topics[i].ID != found[i].ID }
	for i := range m.Book.Topics {
		m.Book.SameTopic = m.Book.SameTopic && m.Book.Topics[i].ID != ""
		if anew(i) {
			again = append(again, m.Book.Topics[i].Name)
		}
	}
	if len(again) == 0 {
		return nil
	}
	why := "topic " + again[0] + " was deleted and made again"
	if more := len(again) - 1; more > 0 {
		why += fmt.Sprintf(", and %d more", more)
	}
	return m.gone(why, anew)
}

// gone returns the error of a ledger some of whose topics, by their indices, are not there any more, or not on this cluster.
func (m *maker) gone(why string, is func(topic int) bool) error {
	var lost []bool // by partition
	for i, t := range m.Book.Topics {
		lost = append(lost, slices.Repeat([]bool{is(i)}, t.Partitions)...)
	}
	var records int64
	for i := range m.Book.Lanes {
		if l := &m.Book.Lanes[i]; lost[l.Partition] {
			records += l.Acknowledged.Count()
		}
	}
	return fmt.Errorf("--verify %s: %s, or this is another cluster: %s of the ledger cannot be there", m.BookName, why,
		theme.Plural(records, "acknowledged record", "acknowledged records"))
}

// account closes the books: what was written goes into the ledger file, and what was read is compared with it.
func (m *maker) account(ctx context.Context) (_ *ledger.Verdict, err error) {
	if m.book == nil {
		return nil, nil
	}
	if path := m.ledgerPath(); m.Plan.Writes() {
		m.book.Lanes = m.clients.Send.Lanes()
		if path != "" {
			err = m.ledger.End(m.book)
		}
		switch {
		case errors.Is(err, fs.ErrExist):
			err = fmt.Errorf("ledger %s: another process put a file in its place during the run, and kt does not overwrite that", path)
		case err != nil:
			err = fmt.Errorf("ledger %s: %w; it ends at %s", path, input.Cause(err), m.ledger.At().UTC().Format(time.RFC3339))
		case path != "":
			m.Notify(Notice{Kind: LedgerWritten, Path: path, Text: "ledger " + path + m.check(path)})
		}
	}
	if !m.Plan.Reads() || !m.Plan.Verify {
		return nil, err
	}
	readings, unknown := m.clients.Read.Readers(ctx)
	if unknown != nil {
		var reasons []string
		for line := range strings.Lines(unknown.Error()) {
			if line = strings.TrimSpace(line); line != "" && !slices.Contains(reasons, line) {
				reasons = append(reasons, line)
			}
		}
		m.Notify(Notice{Kind: LogsUnknown, Text: "records of some partitions count as unchecked: " + strings.Join(reasons, "; ")})
	}
	v := m.book.Verify(readings...)
	if v.OfAnotherRun {
		err = errors.Join(err, fmt.Errorf("--verify %s: the topic holds records of another run and none of this ledger's", m.BookName))
	}
	return &v, err
}

// check returns how the ledger of a run is used; "": its records were taken from the queues.
func (m *maker) check(path string) string {
	at := m.Plan.Servers()
	switch {
	case m.Plan.URL != "" && m.Plan.Reads():
		return ""
	case m.Plan.URL != "":
		return fmt.Sprintf("; check the queues with: kt consume --topic %s --verify %s, and the --url and --command-config of this run", theme.Quoted(m.Plan.Topic.Name), path)
	case len(at) == 0:
		for _, b := range m.header.Environment.Cluster.Brokers {
			at = append(at, b.Addr)
		}
	}
	return fmt.Sprintf("; check the topic with: kt consume --verify %s --bootstrap-server %s", path, strings.Join(at, ","))
}

// ledgerPath returns where the ledger goes, beside the run file unless the request says; "": there is none.
func (m *maker) ledgerPath() string {
	switch {
	case !m.Plan.Verify || !m.Plan.Writes(), m.together(), m.Part != nil && m.Part.Load != "": // it is of one process, and of one load
		return ""
	case m.Ledger != "":
		return m.Ledger
	case m.File == nil:
		return ""
	}
	return strings.TrimSuffix(m.File.path, filepath.Ext(m.File.path)) + ".ledger"
}

// makeLedger makes the file of the ledger, before anything else is made.
func (m *maker) makeLedger() (err error) {
	path := m.ledgerPath()
	if path == "" {
		if m.Plan.Verify && (!m.Plan.Reads() || m.LedgerSync) {
			return result.Misfit("--verify: there is no run file, and so no place for the ledger; add --ledger FILE").About("verify")
		}
		return nil
	}
	m.ledger, err = ledger.Create(path, m.LedgerSync)
	switch {
	case errors.Is(err, fs.ErrExist):
		return result.Misfit("--ledger %s: it exists, and kt does not overwrite ledgers; name another file or remove it", path).About("ledger")
	case err != nil:
		return result.Misfit("--ledger %s: %w", path, input.Cause(err)).About("ledger")
	}
	return nil
}

// tellBeside says when the fsync of each second goes to the file system of a broker's log.
func (m *maker) tellBeside() {
	path := m.ledgerPath()
	for _, dir := range m.BrokerDirs() {
		if fileSystem(dir) == fileSystem(path) {
			m.Notify(Notice{Kind: LedgerBeside, Text: fmt.Sprintf("--ledger-sync: ledger %s and log directory %s are on one file system: its fsync each second is part of the load of the broker's disk", path, dir)})
			return
		}
	}
}

// fileSystem returns which file system a file is on; where that is not known, its path.
func fileSystem(path string) any {
	info, err := os.Stat(path)
	if err != nil {
		return path
	}
	return info.Sys().(*syscall.Stat_t).Dev
}

// keepLedger begins the ledger, and returns what takes the end of each second of the load: nil without a ledger.
func (m *maker) keepLedger() (*engine.Feed[time.Duration], error) {
	if m.ledger == nil {
		return nil, nil
	}
	if err := m.ledger.Mark(m.book, m.Now(), m.clients.Send.Lanes); err != nil {
		return nil, fmt.Errorf("ledger %s: %w", m.ledgerPath(), input.Cause(err))
	}
	if m.LedgerSync && m.BrokerDirs != nil {
		m.tellBeside()
	}
	failed := false
	mark := func(end time.Duration) {
		if err := m.ledger.Mark(m.book, m.began.Add(end), m.clients.Send.Lanes); err != nil && !failed {
			failed = true
			m.Notify(Notice{Kind: FileFailed, Text: fmt.Sprintf("ledger %s: %v; the run goes on", m.ledgerPath(), input.Cause(err))})
		}
	}
	return engine.NewFeed(mark, func(_, end time.Duration) time.Duration { return end }), nil
}
