package input

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"go.yaml.in/yaml/v3"
	"golang.org/x/sys/unix"
)

// Limits of files that are read into memory as a whole.
const (
	MiB      = 1 << 20
	Settings = MiB // of properties, configurations and profiles, which are written by hand
)

// Patience is how long a pipe may take until somebody has written to it.
const Patience = 3 * time.Second

// ErrTooLong is in the error of a file over the limit.
var ErrTooLong = errors.New("is more than a file of its kind has")

// Read returns the content of a file of at most limit bytes.
func Read(path string, limit int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	return ReadAll(f, limit)
}

// ReadAll returns the rest of a file that Open opened, or of the unpacked content of one.
func ReadAll(f io.Reader, limit int64) ([]byte, error) {
	tooLong := fmt.Errorf("it is over %d MiB long, which %w", limit/MiB, ErrTooLong)
	var b bytes.Buffer
	if file, ok := f.(*os.File); ok {
		info, err := file.Stat()
		if err != nil {
			return nil, Cause(err)
		}
		if info.Size() > limit {
			return nil, tooLong
		}
		b.Grow(int(info.Size()) + bytes.MinRead) // of a pipe it is 0
	}
	if _, err := b.ReadFrom(io.LimitReader(f, limit+1)); err != nil {
		return nil, Cause(err)
	}
	if int64(b.Len()) > limit {
		return nil, tooLong
	}
	return b.Bytes(), nil
}

// Open opens a regular file, or a pipe once somebody has written to it.
func Open(path string) (*os.File, error) { return open(path, Patience) }

func open(path string, patience time.Duration) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, Cause(err)
	}
	switch mode := info.Mode(); {
	case mode.IsRegular(), mode&fs.ModeNamedPipe != 0, path == os.DevNull:
	case mode.IsDir():
		return nil, errors.New("it is a directory: name a file")
	case mode&fs.ModeSocket != 0:
		return nil, errors.New("it is a socket: name a file")
	default:
		return nil, errors.New("it is a device: name a file, or a pipe")
	}
	// Whatever has taken its place since: opening does not wait.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, Cause(err)
	}
	if info.Mode()&fs.ModeNamedPipe == 0 {
		return f, nil
	}
	if err := await(f, patience); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// await waits for the first bytes in a pipe.
func await(f *os.File, patience time.Duration) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return Cause(err)
	}
	const pause = 10 * time.Millisecond
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		ready := []unix.PollFd{{Events: unix.POLLIN}}
		var failed error
		err := raw.Control(func(fd uintptr) {
			ready[0].Fd = int32(fd)
			_, failed = unix.Poll(ready, int(pause.Milliseconds()))
		})
		switch {
		case err != nil:
			return Cause(err)
		case ready[0].Revents&unix.POLLIN != 0:
			return nil
		case failed != nil && !errors.Is(failed, unix.EINTR):
			return failed
		case ready[0].Revents != 0: // nobody has it open to write, or no more: poll does not wait then
			time.Sleep(pause)
		}
	}
	return fmt.Errorf("nobody has written to this pipe for %s: name a file, or write to it", patience)
}

// Cause returns the error below the operation and the path, which the caller names.
func Cause(err error) error {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		return p.Err
	case errors.As(err, &l):
		return l.Err
	}
	return err
}

// Replace writes a file as a whole, in the place of an older one if there is one. A reader finds the old file or the new
// one, never a part; an error leaves the old one.
func Replace(path string, perm fs.FileMode, write func(w io.Writer) error) error {
	fresh, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(fresh.Name()) }() // after a success it has the name of the file
	err = write(fresh)
	if err = errors.Join(err, fresh.Chmod(perm), fresh.Sync(), fresh.Close()); err != nil {
		return err
	}
	return os.Rename(fresh.Name(), path)
}

// ReplaceText is Replace by a text.
func ReplaceText(path string, perm fs.FileMode, text []byte) error {
	return Replace(path, perm, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// YAML returns the root of a file of one YAML document; nil: the file is empty. No alias and no << is left in it: what they stand
// for is in their place. where names a line of the file.
func YAML(data []byte, where func(line int) string) (*yaml.Node, error) {
	// Decoding finds what the nodes alone do not show: keys that are there twice, endless aliases.
	var all any
	if err := yaml.Unmarshal(data, &all); err != nil {
		text, line := strings.NewReplacer("yaml: unmarshal errors:\n  ", "", "yaml: ", "", "mapping key", "the key").Replace(err.Error()), 1
		if _, err := fmt.Sscanf(text, "line %d: ", &line); err == nil {
			text = strings.TrimPrefix(text, fmt.Sprintf("line %d: ", line))
		}
		return nil, fmt.Errorf("%s: %s", where(line), text)
	}
	documents := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	switch err := documents.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%s: %w", where(1), err)
	}
	if err := documents.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: only the part above the first --- would count; write one document", where(max(1, more.Line)))
	}
	return plain(doc.Content[0]), nil
}

// plain puts what aliases and << stand for in their place. A key of the mapping counts more than one that << takes over.
func plain(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	for i, child := range n.Content {
		n.Content[i] = plain(child)
	}
	if n.Kind != yaml.MappingNode {
		return n
	}
	from := []*yaml.Node{{Kind: yaml.MappingNode}} // the keys of its own, and then those that << takes over
	for i := 0; i < len(n.Content); i += 2 {
		switch key, value := n.Content[i], n.Content[i+1]; {
		case key.ShortTag() != "!!merge":
			from[0].Content = append(from[0].Content, key, value)
		case value.Kind == yaml.MappingNode:
			from = append(from, value)
		default:
			from = append(from, value.Content...)
		}
	}
	seen := make(map[string]bool)
	n.Content = nil
	for _, m := range from {
		for i := 0; i < len(m.Content); i += 2 {
			if key := m.Content[i]; !seen[key.Value] {
				seen[key.Value] = true
				n.Content = append(n.Content, key, m.Content[i+1])
			}
		}
	}
	return n
}

// Text returns a scalar as it stands in the file, whatever YAML makes of it: 1.10, 007, yes and 2026-01-01 stay what they are, and
// nothing is the empty text.
func Text(n *yaml.Node) (string, error) {
	switch tag := n.ShortTag(); {
	case n.Kind != yaml.ScalarNode:
		return "", errors.New("write one value, or a list of them: [1, 2, 4]")
	case n.Style&yaml.TaggedStyle != 0 && tag != "!!str":
		return "", fmt.Errorf("%s %s: leave the tag out: the text counts as it stands", n.Tag, n.Value)
	case tag == "!!null" && n.Value != "":
		return "", fmt.Errorf("%s is no value: write it in quotes if it is a text, or leave the line out", n.Value)
	}
	return n.Value, nil
}

// Items returns the items of a list, or the one value that there is.
func Items(n *yaml.Node) []*yaml.Node {
	if n.Kind == yaml.SequenceNode {
		return n.Content
	}
	return []*yaml.Node{n}
}
