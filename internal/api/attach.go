package api

import (
	"bytes"
	"context"
	"time"

	"github.com/witan-run/witan/internal/channel"
	"github.com/witan-run/witan/internal/kit/fault"
)

// maxFiles is the most files of one message; the intake has the last word.
const maxFiles = 10

// uploadTime bounds a request that may bring files.
const uploadTime = 2 * time.Minute

// attachment is a file in a message.
type attachment struct {
	Name string `json:"name" required:"true"`
	Type string `json:"type,omitempty" doc:"media type, as declared"`
	Data []byte `json:"data" doc:"base64"`
}

// store puts files into content-addressed storage, before the transaction that
// names them.
func (a *API) store(ctx context.Context, files []attachment) (out []channel.File, err error) {
	if len(files) > maxFiles {
		return nil, fault.New(fault.Limited, "a message has at most %d files", maxFiles).On("attachments")
	}
	for _, f := range files {
		stored, err := a.Intake.Store(ctx, a.Account, f.Name, f.Type, bytes.NewReader(f.Data))
		if err != nil {
			return nil, err
		}
		out = append(out, stored)
	}
	return out, nil
}
