package bedrock

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// frame is one message of an event stream: string headers and a payload.
// Headers of other types are read and dropped; Bedrock names nothing by them.
type frame struct {
	header  map[string]string
	payload []byte
}

// Sizes of the encoding: a prelude of two lengths and a checksum, then headers
// and payload, then a checksum of everything before it.
const (
	preludeSize = 12
	trailerSize = 4
)

var (
	errChecksum  = errors.New("a checksum does not match")
	errFrame     = errors.New("a frame contradicts its own lengths")
	errFrameSize = errors.New("a frame is too large")
)

// readFrame reads one frame of at most limit bytes. It returns io.EOF only
// between frames.
func readFrame(r io.Reader, limit int) (frame, error) {
	prelude := make([]byte, preludeSize)
	if _, err := io.ReadFull(r, prelude); err != nil {
		return frame{}, err
	}
	total, headers := binary.BigEndian.Uint32(prelude), binary.BigEndian.Uint32(prelude[4:])
	if crc32.ChecksumIEEE(prelude[:8]) != binary.BigEndian.Uint32(prelude[8:]) {
		return frame{}, errChecksum
	}
	if uint64(total) > uint64(limit) {
		return frame{}, errFrameSize
	}
	if uint64(total) < uint64(headers)+preludeSize+trailerSize {
		return frame{}, errFrame
	}
	rest := make([]byte, total-preludeSize)
	if _, err := io.ReadFull(r, rest); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return frame{}, err
	}
	end := len(rest) - trailerSize
	sum := crc32.Update(crc32.ChecksumIEEE(prelude), crc32.IEEETable, rest[:end])
	if sum != binary.BigEndian.Uint32(rest[end:]) {
		return frame{}, errChecksum
	}
	h, err := readHeaders(rest[:headers])
	return frame{header: h, payload: rest[headers:end]}, err
}

// fixed is the size of a header value by its type, where the type says it; 6 and
// 7 carry their length.
func fixed(kind byte) (size int, ok bool) {
	switch kind {
	case 0, 1: // true, false
		return 0, true
	case 2:
		return 1, true
	case 3:
		return 2, true
	case 4:
		return 4, true
	case 5, 8: // a long, a time
		return 8, true
	case 9: // a UUID
		return 16, true
	}
	return 0, false
}

const (
	typeBytes  = 6
	typeString = 7
)

func readHeaders(b []byte) (map[string]string, error) {
	out := map[string]string{}
	take := func(n int) ([]byte, bool) {
		if n > len(b) {
			return nil, false
		}
		v := b[:n]
		b = b[n:]
		return v, true
	}
	for len(b) > 0 {
		n, _ := take(1)
		name, ok1 := take(int(n[0]))
		kind, ok2 := take(1)
		if !ok1 || !ok2 {
			return nil, errFrame
		}
		size, ok := fixed(kind[0])
		if !ok {
			if kind[0] != typeBytes && kind[0] != typeString {
				return nil, fmt.Errorf("%w: header type %d", errFrame, kind[0])
			}
			l, whole := take(2)
			if !whole {
				return nil, errFrame
			}
			size = int(binary.BigEndian.Uint16(l))
		}
		value, ok := take(size)
		if !ok {
			return nil, errFrame
		}
		if kind[0] == typeString {
			out[string(name)] = string(value)
		}
	}
	return out, nil
}
