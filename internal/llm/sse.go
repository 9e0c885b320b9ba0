package llm

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
)

// SSE is one server-sent event.
type SSE struct {
	Event string // "" where the server names none
	Data  string
}

// DecodeSSE reads a text/event-stream as the WHATWG HTML standard §9.2.6 has it:
// lines end with CR, LF or both, comments and unknown fields are passed over,
// data lines are joined by LF, and an event that the end of input cuts off is
// dropped. id and retry do not matter here: such a stream is never resumed.
// An error of the body ends the sequence.
func DecodeSSE(b *Body) iter.Seq2[SSE, error] {
	return func(yield func(SSE, error) bool) {
		r := bufio.NewReaderSize(b, 4096)
		l := lines{r: r, limit: b.MaxLine}
		var (
			e    SSE
			data []byte
			any  bool
		)
		for first := true; ; first = false {
			line, err := l.next()
			if errors.Is(err, io.EOF) {
				return
			}
			if errors.Is(err, errLineTooLong) {
				err = b.Failure(TooLarge, "a line of the reply is longer than %d bytes", b.MaxLine)
			}
			if err != nil {
				yield(SSE{}, err)
				return
			}
			if first {
				line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
			}
			if len(line) == 0 {
				if any {
					e.Data = string(data)
					if !yield(e, nil) {
						return
					}
				}
				e, data, any = SSE{}, data[:0], false
				continue
			}
			field, value, _ := bytes.Cut(line, []byte(":"))
			value = bytes.TrimPrefix(value, []byte(" "))
			switch string(field) {
			case "event":
				e.Event = string(value)
			case "data":
				if any {
					data = append(data, '\n')
				}
				data, any = append(data, value...), true
				if len(data) > b.MaxLine {
					yield(SSE{}, b.Failure(TooLarge, "an event of the reply is larger than %d bytes", b.MaxLine))
					return
				}
			}
		}
	}
}

// lines splits at CR, LF and CRLF. A CR at the end of what has arrived is an end
// of line at once; an LF that follows later belongs to it.
type lines struct {
	r     *bufio.Reader
	limit int
	buf   []byte
	wasCR bool
}

type lineError string

func (e lineError) Error() string { return string(e) }

const errLineTooLong = lineError("line too long")

// next returns the next line without its end, valid until the next call. The
// rest after the last end of line is not a line.
func (l *lines) next() ([]byte, error) {
	l.buf = l.buf[:0]
	for {
		c, err := l.r.ReadByte()
		if err != nil {
			return nil, err
		}
		wasCR := l.wasCR
		l.wasCR = c == '\r'
		switch {
		case c == '\n' && wasCR:
			continue
		case c == '\n' || c == '\r':
			return l.buf, nil
		case len(l.buf) >= l.limit:
			return nil, errLineTooLong
		}
		l.buf = append(l.buf, c)
	}
}
