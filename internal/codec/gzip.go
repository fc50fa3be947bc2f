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
		var out bytes.Buffer
		w, err := gzip.NewWriterLevel(nil, level)
		if err != nil {
			panic(err) // the settings of a producer have been checked
		}
		return func(dst, src []byte) []byte {
			out = *bytes.NewBuffer(dst)
			w.Reset(&out)
			_, _ = w.Write(src) // to memory
			_ = w.Close()
			return out.Bytes()
		}
	})
}
