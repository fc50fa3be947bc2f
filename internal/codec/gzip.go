package codec

import (
	"bytes"
	"compress/gzip"
)

// Gzip returns gzip at level 1 to 9; -1 is level 6.
func Gzip(level int) *Codec {
	if level < 0 {
		level = 6
	}
	return newCodec("gzip", level, func() encoder {
		g := new(gzipEncoder)
		var err error
		if g.Writer, err = gzip.NewWriterLevel(&g.out, level); err != nil {
			panic(err) // the settings of a producer have been checked
		}
		return g
	})
}

type gzipEncoder struct {
	*gzip.Writer

	out bytes.Buffer
}

func (g *gzipEncoder) encode(dst, src []byte) []byte {
	g.out = *bytes.NewBuffer(dst)
	g.Reset(&g.out)
	_, _ = g.Write(src) // to memory
	_ = g.Close()
	return g.out.Bytes()
}
