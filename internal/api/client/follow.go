package client

import (
	"bufio"
	"context"
	"encoding/json"
	"strings"

	"github.com/witan-run/witan/internal/kit/fault"
)

// Mark is one event as the stream announces it: read the rest by its id.
type Mark struct {
	Position string `json:"-"` // EPOCH-SEQ
	Reset    bool   `json:"-"` // the position given belongs to an epoch that is over
	Seq      int64  `json:"seq"`
	ID       string `json:"id"`
	Type     string `json:"type"`
	Stream   string `json:"stream"`
	Round    string `json:"correlation"`
}

// Follow calls f for each event after a position ("" means from now on) until
// ctx ends, the server goes away or f returns an error.
func (c *Client) Follow(ctx context.Context, after string, f func(Mark) error) error {
	path := "/api/v1/stream"
	if after != "" {
		path += "?after=" + after
	}
	body, err := c.Stream(ctx, "GET", path, nil, "text/event-stream")
	if err != nil {
		return err
	}
	defer body.Close()
	var m Mark
	var kind, data string
	s := bufio.NewScanner(body)
	s.Buffer(make([]byte, 64<<10), 1<<20)
	for s.Scan() {
		field, value, _ := strings.Cut(s.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "id":
			m.Position = value
		case "event":
			kind = value
		case "data":
			data += value
		case "":
			if data == "" && kind == "" {
				continue
			}
			m.Reset = kind == "reset"
			if !m.Reset {
				if err := json.Unmarshal([]byte(data), &m); err != nil {
					return fault.New(fault.Unavailable, "the stream cannot be read: %w", err)
				}
			}
			if err := f(m); err != nil {
				return err
			}
			kind, data = "", ""
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return fault.New(fault.Unavailable, "the stream ended: %w", s.Err())
}
