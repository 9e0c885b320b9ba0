package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/api"
	"github.com/witan-run/witan/internal/bus"
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/secret"
	"github.com/witan-run/witan/internal/store"
	"github.com/witan-run/witan/internal/store/storetest"
)

// tail is a reader of the stream.
type tail struct {
	t    testing.TB
	body io.ReadCloser
	in   *bufio.Reader
	last string // id
}

type sse struct{ id, kind, data, comment string }

func (h *house) open(q request) *tail {
	h.t.Helper()
	q.method = "GET"
	res, err := h.server.Client().Do(h.newRequest(q))
	if err != nil {
		h.t.Fatal(err)
	}
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		b, _ := io.ReadAll(res.Body)
		h.t.Fatalf("%s: %d %s", q.path, res.StatusCode, b)
	}
	h.t.Cleanup(func() { _ = res.Body.Close() })
	return &tail{t: h.t, body: res.Body, in: bufio.NewReader(res.Body)}
}

// next reads one block of the stream.
func (s *tail) next() (e sse, err error) {
	for {
		line, err := s.in.ReadString('\n')
		if err != nil {
			return e, err
		}
		line = strings.TrimSuffix(line, "\n")
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			return e, nil
		case field == "id":
			e.id, s.last = value, value
		case field == "event":
			e.kind = value
		case field == "data":
			e.data += value
		case field == "":
			e.comment = value
		}
	}
}

type mark struct {
	Seq                           int64
	ID, Type, Stream, Correlation string
}

// mark reads the next event, past comments.
func (s *tail) mark() (mark, sse) {
	s.t.Helper()
	for {
		e, err := s.next()
		if err != nil {
			s.t.Fatalf("the stream ended: %v", err)
		}
		if e.data == "" {
			continue
		}
		var m mark
		if err := json.Unmarshal([]byte(e.data), &m); err != nil {
			s.t.Fatal(err)
		}
		return m, e
	}
}

func (h *house) tip() bus.Tip {
	h.t.Helper()
	var tip bus.Tip
	if err := h.db.Journal.View(ctx(), h.account, func(tx event.Tx) (err error) {
		tip, _, err = store.HeadOf(tx)
		return err
	}); err != nil {
		h.t.Fatal(err)
	}
	return tip
}

// emit commits n small events in one transaction.
func (h *house) emit(n int) {
	h.t.Helper()
	if err := h.db.Journal.Do(ctx(), h.account, func(tx event.Tx) error {
		for range n {
			if _, err := tx.Emit(h.noise(), event.Draft{Label: storetest.House(), Payload: event.ChannelChanged{Channel: "bridge", Connected: true}}); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) noise() event.Origin {
	return storetest.Origin(h.t, event.LayerChannel, event.ClassChannel, "channel", "channel.changed")
}

func TestAStreamSendsMarksAndResumes(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token(h.owner)
	start := h.tip()
	live := h.open(request{path: "/api/v1/stream", as: token})
	if e, err := live.next(); err != nil || e.id != fmt.Sprintf("%d-%d", start.Epoch, start.Seq) || e.data != "" {
		t.Fatalf("first of all: %+v %v", e, err) // where it stands, before any event
	}
	h.emit(3)
	for i := range int64(3) {
		m, e := live.mark()
		if m.Seq != start.Seq+1+i || m.Type != "channel.changed" || e.id != fmt.Sprintf("%d-%d", start.Epoch, m.Seq) || m.ID == "" || m.Correlation != m.ID {
			t.Fatalf("%+v under %s", m, e.id)
		}
		if strings.Contains(e.data, "connected") {
			t.Fatal("the stream holds a payload")
		}
	}
	_ = live.body.Close()
	h.emit(2)
	// after resumes; a browser's Last-Event-ID wins over the address it was opened with.
	again := h.open(request{path: "/api/v1/stream?after=" + fmt.Sprintf("%d-%d", start.Epoch, start.Seq+2), as: token})
	if m, _ := again.mark(); m.Seq != start.Seq+3 {
		t.Errorf("resumed at %d", m.Seq)
	}
	wins := h.open(request{path: "/api/v1/stream?after=" + fmt.Sprintf("%d-0", start.Epoch), as: token, headers: map[string]string{"Last-Event-ID": fmt.Sprintf("%d-%d", start.Epoch, start.Seq+4)}})
	if m, _ := wins.mark(); m.Seq != start.Seq+5 {
		t.Errorf("resumed at %d", m.Seq)
	}
}

func TestAPositionOfAnotherEpochIsReset(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	tip := h.tip()
	for _, after := range []string{fmt.Sprintf("%d-3", tip.Epoch+1), fmt.Sprintf("%d-%d", tip.Epoch, tip.Seq+100)} {
		s := h.open(request{path: "/api/v1/stream?after=" + after, as: h.token(h.owner)})
		for {
			e, err := s.next()
			if err != nil {
				t.Fatal(err)
			}
			if e.kind == "reset" {
				if e.id != fmt.Sprintf("%d-%d", tip.Epoch, h.tip().Seq) || e.data != fmt.Sprintf(`{"epoch":%d}`, tip.Epoch) {
					t.Errorf("reset with %+v", e)
				}
				break
			}
			if e.data != "" {
				t.Fatalf("%s: %+v before the reset", after, e)
			}
		}
		h.emit(1)
		m, e := s.mark()
		if now := h.tip(); m.Seq != now.Seq || e.kind != "" {
			t.Errorf("%s: after the reset came %d, want %d", after, m.Seq, now.Seq)
		}
	}
}

func TestAStreamDoesNotOutliveItsCredential(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(d *api.Deps) { d.Limits.Heartbeat = 20 * time.Millisecond })
	token, other := h.token(h.owner), h.token(h.owner)
	all := must(h.deps.Identity.ListTokens(ctx(), h.account, h.owner.Principal, h.owner.Principal.PersonID))(t)
	s, kept := h.open(request{path: "/api/v1/stream?token=" + token}), h.open(request{path: "/api/v1/stream", as: other})
	for range 4 { // the opening and three heartbeats
		if _, err := s.next(); err != nil {
			t.Fatal(err)
		}
	}
	who := must(h.deps.Identity.Authenticate(ctx(), h.account, identityToken(token)))(t)
	for _, tk := range all {
		if tk.ID == who.TokenID {
			if err := h.deps.Identity.RevokeToken(ctx(), h.account, h.owner.Principal, h.owner.Principal.PersonID, tk.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	for {
		if _, err := s.next(); err != nil {
			break // it ended
		}
	}
	if _, err := kept.next(); err != nil {
		t.Errorf("another token's stream ended too: %v", err)
	}
	if strings.Contains(h.log.String(), token) {
		t.Error("the token of the query stands in the log")
	}
	h.fails(request{method: "GET", path: "/api/v1/inbox?token=" + other}, 401, fault.Unauthorized) // only the stream takes one there
}

func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(d *api.Deps) { d.Limits.StreamsPerPrincipal = 2 })
	token := h.token(h.owner)
	first := h.open(request{path: "/api/v1/stream", as: token})
	h.open(request{path: "/api/v1/stream", as: token})
	if r := h.do(request{method: "GET", path: "/api/v1/stream", as: token}); r.status != 429 || r.header.Get("Retry-After") == "" {
		t.Fatalf("a third stream: %d", r.status)
	}
	_ = first.body.Close()
	for { // its place is free as soon as the server has noticed
		if status, _ := h.knock(request{method: "GET", path: "/api/v1/stream", as: token}); status == 200 {
			return
		}
	}
}

func TestClosingTheAPIEndsStreamsAndLongPolls(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token(h.owner)
	s := h.open(request{path: "/api/v1/stream", as: token})
	var said struct{ MessageID string }
	h.ok(request{method: "POST", path: "/api/v1/messages", as: token, body: `{"text":"help"}`}, 202, &said)
	polled := make(chan int, 1)
	go func() { // joined below
		status, _ := h.knock(request{method: "GET", path: "/api/v1/messages/" + said.MessageID + "?wait=50", as: token})
		polled <- status
	}()
	stop, cancel := context.WithTimeout(ctx(), 10*time.Second)
	defer cancel()
	if err := h.api.Close(stop); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := s.next(); err != nil {
			break
		}
	}
	if status := <-polled; status != 503 {
		t.Errorf("the long poll ended with %d", status)
	}
	h.fails(request{method: "GET", path: "/api/v1/stream", as: token}, 503, fault.Unavailable)
}

// counting counts the reads that tails make.
type counting struct {
	*store.DB
	reads atomic.Int64
}

func (c *counting) MarksAfter(tx event.Tx, after int64, n int) ([]bus.Mark, error) {
	c.reads.Add(1)
	return c.DB.MarksAfter(tx, after, n)
}

// TestFiveHundredReadersCostAtMostOneReadPerCommit: a commit of this node is
// handed on as it was written; whatever is read is read once for all.
func TestFiveHundredReadersCostAtMostOneReadPerCommit(t *testing.T) {
	t.Parallel()
	const readers, commits = 500, 20
	db := storetest.OpenSQLite(t)
	engine := &counting{DB: db.DB}
	h := houseOn(t, db, func(d *api.Deps) {
		d.Limits.StreamsPerPrincipal = readers
		d.Tails = bus.NewTails(engine, d.Log)
	})
	token := h.token(h.owner)
	tails := make([]*tail, readers)
	for i := range tails {
		tails[i] = h.open(request{path: "/api/v1/stream", as: token})
	}
	h.emit(1) // everybody has joined once they all have this one
	h.allSee(tails, h.tip().Seq)
	if engine.reads.Swap(0) == 0 {
		t.Error("that they joined cost no read: nothing is counted")
	}
	for range commits {
		h.emit(1)
		h.allSee(tails, h.tip().Seq)
	}
	n := engine.reads.Load()
	t.Logf("%d readers, %d commits, %d reads", readers, commits, n)
	if n > commits {
		t.Errorf("%d reads for %d commits and %d readers", n, commits, readers)
	}
}

// allSee waits until every reader has an event.
func (h *house) allSee(tails []*tail, seq int64) {
	h.t.Helper()
	var wg sync.WaitGroup
	for _, s := range tails {
		wg.Go(func() {
			for {
				e, err := s.next()
				if err != nil {
					h.t.Errorf("a reader was dropped: %v", err)
					return
				}
				_, n, _ := strings.Cut(e.id, "-")
				if at, err := strconv.ParseInt(n, 10, 64); err == nil && at >= seq && e.data != "" {
					return
				}
			}
		})
	}
	wg.Wait()
}

// TestAReaderThatStandsStillIsDroppedAndNobodyElse fills the buffers of a reader
// that takes nothing.
func TestAReaderThatStandsStillIsDroppedAndNobodyElse(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(d *api.Deps) { d.Limits.WriteTimeout = 100 * time.Millisecond })
	token := h.token(h.owner)
	srv := httptest.NewUnstartedServer(h.api.Handler())
	srv.Config.ConnContext = func(c context.Context, conn net.Conn) context.Context {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetWriteBuffer(4096)
		}
		return c
	}
	srv.Start()
	defer srv.Close()
	conn, err := new(net.Dialer).DialContext(ctx(), "tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.(*net.TCPConn).SetReadBuffer(4096)
	fmt.Fprintf(conn, "GET /api/v1/stream HTTP/1.1\r\nHost: localhost:7420\r\nAuthorization: Bearer %s\r\n\r\n", token)
	head := make([]byte, 15)
	if _, err := io.ReadFull(conn, head); err != nil || string(head) != "HTTP/1.1 200 OK" {
		t.Fatalf("%q %v", head, err)
	}
	good := h.open(request{path: "/api/v1/stream", as: token})
	for range 10 {
		h.emit(500)
	}
	h.allSee([]*tail{good}, h.tip().Seq)
	for !strings.Contains(string(h.do(request{method: "GET", path: "/metrics", as: token}).body), "witan_stream_readers 1\n") {
		h.emit(50) // until its buffers are full and its deadline is past
	}
	if _, err := io.Copy(io.Discard, conn); err != nil && !errors.Is(err, net.ErrClosed) && !strings.Contains(err.Error(), "reset") {
		t.Errorf("the connection ended with %v", err)
	}
}

func identityToken(token string) identity.Proof { return identity.TokenProof(secret.New(token)) }
