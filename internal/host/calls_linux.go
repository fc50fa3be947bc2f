package host

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// unitAndKind returns the unit of a file system's sizes, fragments, which differ from Bsize in FUSE, and its kind as in FileSystems.
func unitAndKind(s *unix.Statfs_t) (unit, kind int64) {
	return int64(cmp.Or(s.Frsize, s.Bsize)), int64(uint32(s.Type)) // signed, and 32 bits wide, on some machines
}

// FlushInput drops what was typed at a terminal and nobody has read. In the background it drops nothing.
func FlushInput(terminal uintptr) {
	if Foreground(terminal) {
		_ = unix.IoctlSetInt(int(terminal), unix.TCFLSH, unix.TCIFLUSH) // else it is read
	}
}

// Ethernet asks the NIC's driver, which any user may. A NIC that is not there is
// fs.ErrNotExist. What the driver does not know, or fails to tell, stays 0; if that
// is everything, the error is that of the first question: errors.ErrUnsupported, as
// a rule.
func (systemCalls) Ethernet(nic string) (Ethernet, error) {
	if nic == "" || len(nic) >= unix.IFNAMSIZ {
		return Ethernet{}, noCard(nic)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return Ethernet{}, fmt.Errorf("%s: ethtool: socket: %w", nic, err)
	}
	defer func() { _ = unix.Close(fd) }() // nothing was written
	e := ethtool{fd: fd, nic: nic}
	var out Ethernet
	var first error
	known := false
	for _, read := range []func(*Ethernet) error{e.rings, e.channels, e.features, e.stats} {
		err := read(&out)
		switch {
		case err == nil:
			known = true
		case errors.Is(err, unix.ENODEV):
			return Ethernet{}, noCard(nic)
		case first == nil:
			first = err
		}
	}
	if !known {
		return Ethernet{}, fmt.Errorf("%s: ethtool: %w", nic, first)
	}
	return out, nil
}

func noCard(nic string) error {
	return fmt.Errorf("there is no NIC %q: %w", nic, fs.ErrNotExist)
}

// ethtool asks one NIC by ioctl, with buffers of 32-bit numbers in the machine's order that begin with the command (linux/ethtool.h).
type ethtool struct {
	fd  int
	nic string
}

// ifreq is struct ifreq of netdevice(7), with room for the largest of its union.
type ifreq struct {
	name [unix.IFNAMSIZ]byte
	data unsafe.Pointer
	_    [16]byte
}

// ask sends a buffer and has the answer in it.
func (e ethtool) ask(buf []byte) error {
	var r ifreq
	copy(r.name[:], e.nic)
	// The kernel gets the buffer's address inside of r, where the collector sees it:
	// the buffer stays, and memory that escapes to the heap does not move.
	r.data = unsafe.Pointer(unsafe.SliceData(buf))
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(e.fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&r)))
	runtime.KeepAlive(buf)
	if errno != 0 {
		return errno
	}
	return nil
}

// words asks with a command and numbers, and returns the numbers of the answer without the command.
func (e ethtool) words(command uint32, room int, question ...uint32) ([]uint32, error) {
	buf := make([]byte, 4*(1+room))
	binary.NativeEndian.PutUint32(buf, command)
	for i, q := range question {
		binary.NativeEndian.PutUint32(buf[4*(1+i):], q)
	}
	if err := e.ask(buf); err != nil {
		return nil, err
	}
	out := make([]uint32, room)
	for i := range out {
		out[i] = binary.NativeEndian.Uint32(buf[4*(1+i):])
	}
	return out, nil
}

// rings and channels have the most of four kinds of queue, and then what is set: of rx, mini, jumbo, tx, and of rx, tx, other, combined.
func (e ethtool) rings(to *Ethernet) error {
	w, err := e.words(unix.ETHTOOL_GRINGPARAM, 8)
	if err == nil {
		to.RXRingMax, to.RXRing = int(w[0]), int(w[4])
	}
	return err
}

func (e ethtool) channels(to *Ethernet) error {
	w, err := e.words(unix.ETHTOOL_GCHANNELS, 8)
	if err != nil {
		return err
	}
	to.ChannelsMax, to.Channels = int(w[3]), int(w[7])
	if to.ChannelsMax == 0 {
		to.ChannelsMax, to.Channels = int(max(w[0], w[1])), int(max(w[4], w[5]))
	}
	return nil
}

// Sets of strings that a driver may have.
const (
	statNames    = 1 // ETH_SS_STATS
	featureNames = 4 // ETH_SS_FEATURES
)

const (
	nameLength = 32   // ETH_GSTRING_LEN
	mostNames  = 8192 // of a set: more is no answer that kt believes
)

// names returns the strings of a set, and room for how many the next answer needs.
func (e ethtool) names(set uint32) (names []string, room int, err error) {
	w, err := e.words(unix.ETHTOOL_GSSET_INFO, 4, 0, 1<<set, 0) // reserved, mask (64 bits), then the length
	if err != nil {
		return nil, 0, err
	}
	if w[1] == 0 || w[3] == 0 {
		return nil, 0, unix.EOPNOTSUPP
	}
	if w[3] > mostNames {
		return nil, 0, fmt.Errorf("the driver has %d names in a set", w[3])
	}
	// The kernel writes as many as there are when it answers, without looking at how
	// many fit: a queue may have been added since.
	room = 2*int(w[3]) + 256
	buf := make([]byte, 12+room*nameLength)
	for i, n := range []uint32{unix.ETHTOOL_GSTRINGS, set, w[3]} {
		binary.NativeEndian.PutUint32(buf[4*i:], n)
	}
	if err := e.ask(buf); err != nil {
		return nil, 0, err
	}
	for i := range min(int(binary.NativeEndian.Uint32(buf[8:])), room) {
		name, _, _ := bytes.Cut(buf[12+i*nameLength:][:nameLength], []byte{0})
		names = append(names, string(bytes.TrimSpace(name)))
	}
	return names, room, nil
}

func (e ethtool) stats(to *Ethernet) error {
	names, room, err := e.names(statNames)
	if err != nil {
		return err
	}
	buf := make([]byte, 8+8*room)
	binary.NativeEndian.PutUint32(buf, unix.ETHTOOL_GSTATS)
	binary.NativeEndian.PutUint32(buf[4:], uint32(len(names)))
	if err := e.ask(buf); err != nil {
		return err
	}
	to.Stats = make(map[string]int64)
	for i, name := range names[:min(len(names), int(binary.NativeEndian.Uint32(buf[4:])))] {
		if name != "" {
			to.Stats[name] = int64(binary.NativeEndian.Uint64(buf[8+8*i:]))
		}
	}
	return nil
}

func (e ethtool) features(to *Ethernet) error {
	names, _, err := e.names(featureNames)
	if err != nil {
		return err
	}
	blocks := (len(names) + 31) / 32
	// The number of blocks, then of each: available, requested, active, never changed.
	w, err := e.words(unix.ETHTOOL_GFEATURES, 1+4*blocks, uint32(blocks))
	if err != nil {
		return err
	}
	active := make(map[string]bool)
	for i, name := range names {
		if name != "" {
			active[name] = w[1+4*(i/32)+2]>>(i%32)&1 == 1
		}
	}
	to.Features = groupFeatures(active)
	return nil
}

// staUnsync is STA_UNSYNC of adjtimex(2): nobody keeps the clock in step.
const staUnsync = 0x40

// ReadClock asks the kernel about its clock, which any user may; nil when it does
// not tell.
func ReadClock() *Clock {
	var t syscall.Timex
	if _, err := syscall.Adjtimex(&t); err != nil {
		return nil
	}
	return &Clock{Synchronised: t.Status&staUnsync == 0, ErrorUS: int64(t.Maxerror)}
}

// Sleeper sleeps for one goroutine, more precisely than time.Sleep: that rounds up to whole milliseconds of epoll
// (golang/go#53824), so a sleep of 1 ms takes up to 2 ms. Its timer is a file, and epoll returns when it expires. While all
// threads of Go are busy, Go looks at epoll every 10 ms only, but at its own timers at once: the deadline of the file is one,
// and whichever comes first ends the sleep.
type Sleeper struct {
	timer *os.File
	conn  syscall.RawConn // nil: there is no timer, and time.Sleep does it
	begin func(fd uintptr) bool

	length time.Duration // of the sleep
	armed  bool          // it has begun
	err    error
}

// NewSleeper returns a sleeper. Close frees its timer. Without a timer, as when there are too many open files, it sleeps as
// time.Sleep does: the own send delay of the run shows that, so it is no error.
func NewSleeper() *Sleeper {
	s := &Sleeper{}
	s.begin = s.arm // once, because it allocates
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return s
	}
	s.timer = os.NewFile(uintptr(fd), "timer")
	if s.conn, err = s.timer.SyscallConn(); err != nil {
		s.conn = nil
	}
	return s
}

// Sleep waits for d.
func (s *Sleeper) Sleep(d time.Duration) {
	if d > 0 && !s.wait(d) {
		time.Sleep(d)
	}
}

// wait waits for d with the timer. It reports whether it could.
func (s *Sleeper) wait(d time.Duration) bool {
	if s.conn == nil || s.timer.SetReadDeadline(time.Now().Add(d)) != nil {
		return false
	}
	s.length, s.armed, s.err = d, false, nil
	err := s.conn.Read(s.begin)
	return s.err == nil && (err == nil || errors.Is(err, os.ErrDeadlineExceeded))
}

// arm starts the timer when it is first called, and reports whether the sleep is over. Nobody reads how often the timer
// expired: starting it forgets that.
func (s *Sleeper) arm(fd uintptr) (over bool) {
	if s.armed {
		return true
	}
	s.armed = true
	once := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(s.length))}
	s.err = unix.TimerfdSettime(int(fd), 0, &once, nil)
	return s.err != nil
}

// Close frees the timer.
func (s *Sleeper) Close() error {
	if s.timer == nil {
		return nil
	}
	return s.timer.Close()
}
