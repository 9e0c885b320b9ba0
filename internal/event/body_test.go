package event

import (
	"encoding/json"
	"testing"

	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/fault"
)

// TestABodyIsTheCanonicalFormOfItsMembers: it is put together by hand, and must
// stay what a canonical encoder makes of the whole.
func TestABodyIsTheCanonicalFormOfItsMembers(t *testing.T) {
	t.Parallel()
	label, err := ParseLabel("p:a")
	if err != nil {
		t.Fatal(err)
	}
	payload := LLMRequest{Role: "respond", Request: json.RawMessage(`{"b": 1, "a": "<é\u0001>"}`)}
	for _, r := range []Raise{{}, {By: RaiseHandle, Label: label}} {
		for _, summary := range []string{"", `It said "no" & went <away>.`} {
			raw, err := EncodeBody(Event{Type: payload.EventType(), Version: 1, Payload: payload, Summary: summary}, r)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := canon.Canonicalize(raw); err != nil || string(again) != string(raw) {
				t.Errorf("%s is not canonical: %s, %v", raw, again, err)
			}
			e := Event{Type: payload.EventType(), Version: 1}
			if err := DecodeBody(&e, raw); err != nil || e.Summary != summary || e.Payload.(LLMRequest).Role != "respond" {
				t.Errorf("%s was read back as %+v, %v", raw, e, err)
			}
		}
	}
	for _, bad := range []string{"a\x00b", "a\xffb"} {
		if _, err := EncodeBody(Event{Type: "llm.request", Payload: LLMRequest{Role: bad}}, Raise{}); !fault.Is(err, fault.Invalid) {
			t.Errorf("the text %q was encoded: %v", bad, err)
		}
		if _, err := EncodeBody(Event{Type: "llm.request", Payload: LLMRequest{}, Summary: bad}, Raise{}); !fault.Is(err, fault.Invalid) {
			t.Errorf("the summary %q was encoded: %v", bad, err)
		}
	}
}
