package api

import (
	"encoding/json"
	"net/http"
)

// answer is the response of one request: it remembers whether it began, so that
// an error or a panic after that cannot write a second one.
type answer struct {
	http.ResponseWriter
	status int // 0 until the header was written
	bytes  int64
}

// Unwrap lets http.ResponseController reach the connection.
func (w *answer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *answer) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *answer) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}

func (w *answer) json(status int, v any) error {
	return w.typed(status, "application/json", v)
}

func (w *answer) typed(status int, media string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", media)
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n')) // a client that went away is nobody to tell
	return nil
}
