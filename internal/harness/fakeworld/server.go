package fakeworld

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// Server serves a world on a loopback port.
type Server struct {
	World *World
	URL   string // http://127.0.0.1:PORT

	http *http.Server
	end  chan struct{} // closed by Close; lets hanging acts go
	done chan error    // closed by the serving goroutine
}

// Serve opens the world at path and serves it until Close.
func Serve(path string) (*Server, error) {
	w, err := Open(path)
	if err != nil {
		return nil, err
	}
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("serve world: %w", err), w.Close())
	}
	s := &Server{World: w, URL: "http://" + l.Addr().String(), end: make(chan struct{}), done: make(chan error, 1)}
	s.http = &http.Server{Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second}
	go func() { s.done <- s.http.Serve(l); close(s.done) }()
	return s, nil
}

// Close ends hanging acts and connections, waits, and closes the world.
func (s *Server) Close() error {
	close(s.end)
	err := s.http.Close()
	if e := <-s.done; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return errors.Join(err, s.World.Close())
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /act/{class}", s.act)
	mux.HandleFunc("GET /effects/{key}", s.effect)
	mux.HandleFunc("GET /counts", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, s.World.Counts()) })
	mux.HandleFunc("POST /tell", s.tell)
	return mux
}

// answer writes JSON. The caller may have gone; that is its business.
func answer(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error":"marshal"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func refuse(w http.ResponseWriter, status int, why string) {
	answer(w, status, map[string]string{"error": why})
}

const mostBody = 1 << 20 // bytes

func (s *Server) act(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	class, key := Class(r.PathValue("class")), r.Header.Get("Idempotency-Key")
	mode := s.World.take(class, key)
	var e Effect
	if mode.done() {
		if e, err = s.World.Do(class, key, string(body)); err != nil {
			refuse(w, http.StatusBadRequest, err.Error())
			return
		}
	}
	switch mode {
	case FailBefore, FailAfter:
		refuse(w, http.StatusInternalServerError, "told to fail")
	case TooMany:
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusTooManyRequests, "told to refuse")
	case HangBefore, HangAfter:
		select {
		case <-r.Context().Done():
		case <-s.end:
		}
		panic(http.ErrAbortHandler) // ends the connection without an answer
	case DieBefore, DieAfter:
		panic(http.ErrAbortHandler)
	case CutAnswer:
		w.Header().Set("Content-Length", "100")
		w.WriteHeader(http.StatusOK)
		_, _ = io.WriteString(w, `{"key":"`)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	default:
		answer(w, http.StatusOK, e)
	}
}

func (s *Server) effect(w http.ResponseWriter, r *http.Request) {
	switch e, ok := s.World.Find(r.PathValue("key")); {
	case !ok:
		refuse(w, http.StatusNotFound, "this key never arrived")
	case e.Class == Once:
		refuse(w, http.StatusForbidden, "this world does not tell")
	default:
		answer(w, http.StatusOK, e)
	}
}

func (s *Server) tell(w http.ResponseWriter, r *http.Request) {
	var b Behaviour
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostBody)).Decode(&b)
	if err == nil {
		err = s.World.Tell(b)
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
