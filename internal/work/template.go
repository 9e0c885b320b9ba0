package work

import (
	"strings"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
)

// What a trigger's body may hold; everything else in it is text.
const (
	PayloadPlace = "{{EVENT_PAYLOAD}}"
	FAQPlace     = "{{EVENT_FAQ}}"
)

// render puts a payload and answers into a template. What is put in is data: a
// place that stands in it stays as it is. Where the result would be longer than
// limit bytes, ok is false and nothing is built.
func render(template, payload, faq string, limit int) (body string, ok bool) {
	grown := strings.Count(template, PayloadPlace)*(len(payload)-len(PayloadPlace)) + strings.Count(template, FAQPlace)*(len(faq)-len(FAQPlace))
	if len(template)+grown > limit {
		return "", false
	}
	return strings.NewReplacer(PayloadPlace, payload, FAQPlace, faq).Replace(template), true
}

// faqText writes questions and answers as they go into a body.
func faqText(faq ...[]event.QA) string {
	var b strings.Builder
	for _, part := range faq {
		for _, qa := range part {
			if b.Len() > 0 {
				b.WriteString("\n\n")
			}
			b.WriteString("Q: " + qa.Q + "\nA: " + qa.A)
		}
	}
	return b.String()
}

// Form is how a worker's session calls its tools, and so how it is told to.
type Form uint8

// The two forms.
const (
	Grouped Form = iota // workspace {action: "publishEvent", payload: {...}}
	Flat                // publishEvent(...)
)

// instruction is the seed's line that asks a worker to publish a signal with what
// it did, before it says that it is done.
func instruction(f Form, name string, task id.ID) string {
	if f == Flat {
		return `[On completion, before marking this task completed: call publishEvent(name: "` + name + `", taskId: "` + task.String() +
			`", payload: "<what happened, in your words>", faq: [{q, a}, ...])]`
	}
	return `[On completion, before marking this task completed: call workspace {action: "publishEvent", payload: {name: "` + name +
		`", taskId: "` + task.String() + `", payload: "<your output payload>"}}]`
}

// instruct appends the instruction to a body, and what the payload should be.
func instruct(body string, f Form, sig Signal, task id.ID) string {
	if body != "" {
		body += "\n\n"
	}
	body += instruction(f, sig.Name, task)
	if sig.PayloadGuidelines != "" {
		body += "\nPayload guidelines: " + sig.PayloadGuidelines
	}
	return body
}

// Brief returns the body as a worker is to read it, in the form of its session: a
// task that is to publish a signal asks for it, whoever wrote it. A body that
// asks already is not asked twice.
func (t Task) Brief(f Form, sig Signal) string {
	if t.EventID.IsZero() || sig.ID != t.EventID {
		return t.Body
	}
	if asks := instruction(Grouped, sig.Name, t.ID); strings.Contains(t.Body, asks) {
		return strings.Replace(t.Body, asks, instruction(f, sig.Name, t.ID), 1)
	}
	return instruct(t.Body, f, sig, t.ID)
}
