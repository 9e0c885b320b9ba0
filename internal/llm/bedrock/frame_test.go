package bedrock

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// frameOf builds a frame from encoded headers and a payload.
func frameOf(headers, payload []byte) []byte {
	var b bytes.Buffer
	put := func(n uint32) { _ = binary.Write(&b, binary.BigEndian, n) }
	put(uint32(preludeSize + len(headers) + len(payload) + trailerSize))
	put(uint32(len(headers)))
	put(crc32.ChecksumIEEE(b.Bytes()))
	b.Write(headers)
	b.Write(payload)
	put(crc32.ChecksumIEEE(b.Bytes()))
	return b.Bytes()
}

// allTypes is a header of every type of the encoding, one after the other.
func allTypes() []byte {
	var b bytes.Buffer
	h := func(name string, kind byte, value string) {
		b.WriteByte(byte(len(name)))
		b.WriteString(name)
		b.WriteByte(kind)
		b.WriteString(value)
	}
	h("t", 0, "")
	h("f", 1, "")
	h("b", 2, "\x01")
	h("s", 3, "\x01\x02")
	h("i", 4, "\x01\x02\x03\x04")
	h("l", 5, "12345678")
	h("y", 6, "\x00\x03abc")
	h(":event-type", 7, "\x00\x05hello")
	h("ts", 8, "12345678")
	h("u", 9, "0123456789abcdef")
	return b.Bytes()
}

func TestReadFrame(t *testing.T) {
	t.Parallel()
	// The smallest frame, by hand: 16 bytes in all, no header, no payload.
	smallest, err := hex.DecodeString("000000100000000005c248eb7d98c8ff")
	if err != nil {
		t.Fatal(err)
	}
	r := bytes.NewReader(append(smallest, frameOf(allTypes(), []byte(`{"a":1}`))...))
	f, err := readFrame(r, 1<<20)
	if err != nil || len(f.header) != 0 || len(f.payload) != 0 {
		t.Fatalf("%+v %v", f, err)
	}
	f, err = readFrame(r, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{":event-type": "hello"}, f.header); diff != "" || string(f.payload) != `{"a":1}` {
		t.Errorf("%s %q", diff, f.payload)
	}
	if _, err = readFrame(r, 1<<20); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}

func TestReadFrameFindsEveryFlippedBit(t *testing.T) {
	t.Parallel()
	good := frameOf(allTypes(), []byte(`{"a":1}`))
	for i := range good {
		for bit := range 8 {
			bad := bytes.Clone(good)
			bad[i] ^= 1 << bit
			if _, err := readFrame(bytes.NewReader(bad), 1<<20); err == nil {
				t.Fatalf("bit %d of byte %d: no error", bit, i)
			}
		}
	}
}

func TestReadFrameRefusesLies(t *testing.T) {
	t.Parallel()
	prelude := func(total, headers uint32) []byte {
		b := binary.BigEndian.AppendUint32(nil, total)
		b = binary.BigEndian.AppendUint32(b, headers)
		return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	}
	for name, c := range map[string]struct {
		in   []byte
		want error
	}{
		"larger than allowed":      {prelude(1<<31, 0), errFrameSize},
		"smaller than itself":      {prelude(3, 0), errFrame},
		"headers beyond the frame": {prelude(40, 1<<30), errFrame},
		"header without value":     {frameOf([]byte("\x01a\x07\x00\x09x"), nil), errFrame},
		"header without type":      {frameOf([]byte("\x01a"), nil), errFrame},
		"header of no known type":  {frameOf([]byte("\x01a\x2a"), nil), errFrame},
		"length of a value cut":    {frameOf([]byte("\x01a\x07\x00"), nil), errFrame},
		"cut in the prelude":       {prelude(40, 0)[:5], io.ErrUnexpectedEOF},
		"cut after the prelude":    {prelude(40, 0), io.ErrUnexpectedEOF},
	} {
		if _, err := readFrame(bytes.NewReader(c.in), 1<<20); !errors.Is(err, c.want) {
			t.Errorf("%s: want %v, got %v", name, c.want, err)
		}
	}
}

func FuzzReadFrame(f *testing.F) {
	f.Add(frameOf(allTypes(), []byte(`{"a":1}`)))
	f.Fuzz(func(t *testing.T, b []byte) {
		fr, err := readFrame(bytes.NewReader(b), 1<<16)
		if err == nil && len(fr.payload) > len(b) {
			t.Error("payload from nowhere")
		}
	})
}
