package codec

import (
	"strconv"
	"sync"
)

// Codec compresses batches with one method and level. Several goroutines may use it.
type Codec struct {
	name string
	pool sync.Pool // of encoders
}

// encoder appends the compressed src to dst. It keeps its tables for the next batch.
type encoder func(dst, src []byte) []byte

func newCodec(name string, level int, make func() encoder) *Codec {
	if level != 0 {
		name += ":" + strconv.Itoa(level)
	}
	return &Codec{name: name, pool: sync.Pool{New: func() any { return make() }}}
}

// String returns the method and the level in effect, as in "gzip:6".
func (c *Codec) String() string { return c.name }

// Append appends the compressed src to dst and returns the extended buffer.
func (c *Codec) Append(dst, src []byte) []byte {
	e := c.pool.Get().(encoder)
	defer c.pool.Put(e)
	return e(dst, src)
}
