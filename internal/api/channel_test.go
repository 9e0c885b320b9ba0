package api_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"mime/multipart"
	"strings"
	"testing"

	"github.com/witan-run/witan/internal/channel/httpin"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/secret"
)

const bridgePath = "/api/v1/channels/bridge/messages"

type taken struct {
	MessageID, ThreadID, State, Reason string
	Repeat                             bool
}

func TestAProgramHandsMessagesOverOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token(h.owner)
	q := request{method: "POST", path: bridgePath, as: token, body: `{"text":"help","thread":"t1"}`, headers: map[string]string{"Idempotency-Key": "k1"}}
	noKey := q
	noKey.headers = nil
	if p := h.fails(noKey, 400, fault.Invalid); p.Field != "Idempotency-Key" {
		t.Errorf("%+v", p)
	}
	var first, again taken
	h.ok(q, 202, &first)
	before := h.tip()
	if h.ok(q, 202, &again); again.MessageID != first.MessageID || !again.Repeat || h.tip() != before {
		t.Errorf("the same key: %+v, then %+v", first, again)
	}
	other := q
	other.body = `{"text":"something else"}`
	h.fails(other, 409, fault.Conflict)
	h.drain()
	var got struct {
		State   string
		Answers []struct{ Text string }
	}
	h.ok(request{method: "GET", path: bridgePath + "/" + first.MessageID, as: token}, 200, &got)
	if got.State != "answered" || len(got.Answers) != 1 {
		t.Errorf("%+v", got)
	}
	h.fails(request{method: "GET", path: "/api/v1/channels/nobody/messages/" + first.MessageID, as: token}, 404, fault.NotFound)
	// A message of another channel is none of this one's.
	var mine taken
	h.ok(request{method: "POST", path: "/api/v1/messages", as: token, body: `{"text":"help"}`}, 202, &mine)
	h.fails(request{method: "GET", path: bridgePath + "/" + mine.MessageID, as: token}, 404, fault.NotFound)
}

func TestAStrangerIsHeldUntilAPersonDecides(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token(h.owner)
	post := func(key, body string) (out taken) {
		h.ok(request{method: "POST", path: bridgePath, as: token, body: body, headers: map[string]string{"Idempotency-Key": key}}, 202, &out)
		return out
	}
	first := post("k1", `{"text":"hello?","sender":"ines@example.org","senderName":"Ines"}`)
	if first.State != "held" || first.Reason != "unknown_sender" {
		t.Fatalf("%+v", first)
	}
	var held struct {
		Items []struct {
			ID, Sender, Text, Reason string
			Proven                   bool
		}
		InAll int
	}
	h.ok(request{method: "GET", path: "/api/v1/held", as: token}, 200, &held)
	if len(held.Items) != 1 || held.InAll != 1 || held.Items[0].Sender != "ines@example.org" || held.Items[0].Text != "hello?" || held.Items[0].Proven {
		t.Fatalf("%+v", held)
	}
	h.fails(request{method: "POST", path: "/api/v1/held/" + held.Items[0].ID, as: token, body: `{"action":"eat"}`}, 400, fault.Invalid)
	h.ok(request{method: "POST", path: "/api/v1/held/" + held.Items[0].ID, as: token, body: `{"action":"release"}`}, 200, nil)
	h.drain()
	var got struct{ State string }
	if h.ok(request{method: "GET", path: bridgePath + "/" + first.MessageID, as: token}, 200, &got); got.State != "answered" {
		t.Errorf("after the release: %+v", got)
	}
	// The next one is held again, until the sender is known.
	second := post("k2", `{"text":"again","sender":"ines@example.org"}`)
	h.ok(request{method: "GET", path: "/api/v1/held", as: token}, 200, &held)
	var done struct {
		Contact struct{ ID, Name, Status string }
	}
	h.ok(request{method: "POST", path: "/api/v1/held/" + held.Items[0].ID, as: token, body: `{"action":"identify","name":"Ines"}`}, 200, &done)
	if second.State != "held" || done.Contact.Status != "confirmed" {
		t.Errorf("%+v %+v", second, done)
	}
	var contacts struct {
		Items []struct {
			ID, Name, Status string
			Version          int64
		}
	}
	h.ok(request{method: "GET", path: "/api/v1/contacts?status=confirmed", as: token}, 200, &contacts)
	var ines int
	for i, c := range contacts.Items {
		if c.Name == "Ines" {
			ines = i
		}
	}
	change := request{method: "PATCH", path: "/api/v1/contacts/" + contacts.Items[ines].ID, as: token, body: map[string]any{"version": contacts.Items[ines].Version, "status": "blocked"}}
	h.ok(change, 200, nil)
	h.fails(change, 409, fault.Conflict)
	if out := post("k3", `{"text":"once more","sender":"ines@example.org"}`); out.State != "rejected" || out.Reason != "blocked_sender" {
		t.Errorf("%+v", out)
	}
}

func TestASignatureProvesASender(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	now := h.db.Clock.Now()
	body := `{"text":"hello","sender":"ines@example.org"}`
	q := request{method: "POST", path: bridgePath, body: body, headers: map[string]string{"Idempotency-Key": "k1",
		"Witan-Timestamp": fmt.Sprint(now.Unix()), "Witan-Signature": httpin.Sign(secret.New(signing), now, []byte(body))}}
	var out taken
	h.ok(q, 202, &out)
	if out.State != "held" || out.Reason != "unknown_sender" {
		t.Errorf("%+v", out)
	}
	tampered := q
	tampered.body = strings.Replace(body, "hello", "hullo", 1)
	h.fails(tampered, 401, fault.Unauthorized)
	nobody := q
	nobody.headers = map[string]string{"Idempotency-Key": "k1"}
	h.fails(nobody, 401, fault.Unauthorized)
	// A signature opens this one door.
	h.fails(request{method: "GET", path: bridgePath + "/" + out.MessageID, headers: q.headers}, 401, fault.Unauthorized)
	h.fails(request{method: "POST", path: "/api/v1/messages", body: `{"text":"x"}`, headers: q.headers}, 401, fault.Unauthorized)
	speaksForItself := `{"text":"hello"}`
	h.fails(request{method: "POST", path: bridgePath, body: speaksForItself, headers: map[string]string{"Idempotency-Key": "k2",
		"Witan-Timestamp": fmt.Sprint(now.Unix()), "Witan-Signature": httpin.Sign(secret.New(signing), now, []byte(speaksForItself))}}, 400, fault.Invalid)
}

func TestFilesComeAsBase64OrAsAForm(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token(h.owner)
	content := []byte("%PDF-1.4 \x00\xff not really")
	h.ok(request{method: "POST", path: bridgePath, as: token, headers: map[string]string{"Idempotency-Key": "k1"}, body: map[string]any{"text": "help",
		"attachments": []map[string]string{{"name": "a.pdf", "type": "application/pdf", "data": base64.StdEncoding.EncodeToString(content)}}}}, 202, nil)
	var form bytes.Buffer
	m := multipart.NewWriter(&form)
	_ = m.WriteField("message", `{"text":"help"}`)
	w := must(m.CreateFormFile("file", "page.html"))(t)
	_, _ = w.Write([]byte("<script>alert(1)</script>"))
	_ = m.Close()
	h.ok(request{method: "POST", path: bridgePath, as: token, body: form.Bytes(), headers: map[string]string{"Idempotency-Key": "k2", "Content-Type": m.FormDataContentType()}}, 202, nil)
	var events struct {
		Items []struct {
			Payload struct {
				Attachments []struct{ Name, Digest string }
			}
		}
	}
	h.ok(request{method: "GET", path: "/api/v1/events?type=inbound.message", as: token}, 200, &events)
	if len(events.Items) != 2 || len(events.Items[1].Payload.Attachments) != 1 || len(events.Items[0].Payload.Attachments) != 1 {
		t.Fatalf("%+v", events)
	}
	pdf := h.do(request{method: "GET", path: "/api/v1/attachments/" + events.Items[1].Payload.Attachments[0].Digest, as: token})
	if !bytes.Equal(pdf.body, content) || !strings.HasPrefix(pdf.header.Get("Content-Disposition"), "attachment") {
		t.Errorf("%v %q", pdf.header, pdf.body)
	}
	html := h.do(request{method: "GET", path: "/api/v1/attachments/" + events.Items[0].Payload.Attachments[0].Digest, as: token})
	if strings.Contains(html.header.Get("Content-Type"), "html") || !strings.HasPrefix(html.header.Get("Content-Disposition"), "attachment") {
		t.Errorf("a page is served as %v", html.header)
	}
	h.fails(request{method: "GET", path: "/api/v1/attachments/" + strings.Repeat("0", 64), as: token}, 404, fault.NotFound)
	bad := request{method: "POST", path: bridgePath, as: token, body: "--x\r\nnonsense", headers: map[string]string{"Idempotency-Key": "k3", "Content-Type": "multipart/form-data; boundary=x"}}
	h.fails(bad, 400, fault.Invalid)
}

func TestTooManyMessagesAreToldSo(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token(h.owner)
	for i := range 30 {
		r := h.do(request{method: "POST", path: bridgePath, as: token, headers: map[string]string{"Idempotency-Key": fmt.Sprint(i)}, body: `{"text":"x","sender":"flood@example.org"}`})
		if r.status == 202 {
			continue
		}
		if p := r.problem(t); r.status != 429 || p.Kind != "limited" || r.header.Get("Retry-After") == "" {
			t.Fatalf("%d %+v", r.status, p)
		}
		// The message stands in the journal, as rejected; its key is used.
		var events struct {
			Items []struct{ Payload struct{ Reason string } }
		}
		h.ok(request{method: "GET", path: "/api/v1/events?type=message.rejected", as: token}, 200, &events)
		if len(events.Items) != 1 || !strings.HasSuffix(events.Items[0].Payload.Reason, "_rate") {
			t.Errorf("%+v", events)
		}
		return
	}
	t.Error("no limit was met")
}
