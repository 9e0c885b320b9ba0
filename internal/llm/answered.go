package llm

import (
	"strconv"
	"strings"
	"time"
)

// answered names the failure of a reply with an error status. The code is the
// provider's word for it, which is finer than the status where one status means
// several things.
func (w *Wire) answered(status int, code, message string, after time.Duration) *Failure {
	r, what, fix := ServerError, "the provider had an error", ""
	word := code
	code = strings.ToLower(code)
	has := func(words ...string) bool {
		for _, word := range words {
			if strings.Contains(code, word) {
				return true
			}
		}
		return false
	}
	switch {
	case has("insufficient_quota", "billing", "servicequotaexceeded") || status == 402:
		r, what, fix = NoQuota, "the provider's account has no quota or money left", "top it up at the provider, or map the role to another provider"
	case has("overloaded") || status == 529 || status == 503 || has("serviceunavailable", "modelnotready"):
		r, what = Overloaded, "the provider is overloaded"
	case has("rate_limit", "throttl") || status == 429:
		r, what, fix = RateLimited, "the provider limits the rate", "wait, or raise the limit at the provider"
	case status == 401 || status == 403:
		r, what, fix = BadKey, "the provider refuses the key", "check the key, and that it may use this model"
		// A refusal of a key likes to quote it, masked in ways scrub cannot know.
		message = ""
	case status == 404:
		r, what, fix = NoModel, "the provider knows no such model or path", "check the model's name and the base URL"
	case status == 408 || status == 504:
		r, what = Slow, "the provider timed out"
	case status == 409 || status == 424 || status == 425:
		r, what = ServerError, "the provider could not finish"
	case status/100 == 3:
		r, what, fix = Redirected, "the base URL answers with a redirect, which is not followed", "set the base URL to the target"
		message = ""
	case status/100 == 4:
		r, what = BadRequest, "the provider refuses the request"
	}
	text := what
	if status != 0 {
		text += " (" + strings.TrimSpace(strconv.Itoa(status)+" "+plainWord(word)) + ")"
	}
	if message = strings.TrimSpace(message); message != "" {
		text += ": " + message
	}
	f := w.Failure(r, "%s", text)
	if fix != "" {
		f = f.WithFix("%s", fix)
	}
	f.Status, f.RetryAfter = status, after
	return f
}

// plainWord returns a provider's code if it looks like one: it is shown even
// where its message is not.
func plainWord(s string) string {
	if len(s) > 60 || strings.ContainsFunc(s, func(r rune) bool { return r != ' ' && (r > 0x7f || !wireByte(byte(r))) }) {
		return ""
	}
	return s
}

// retryAfter reads the two headers in use: milliseconds (some gateways), and
// seconds or a date (RFC 9110 §10.2.3). Nonsense and the past are 0.
func retryAfter(h map[string][]string, now time.Time) time.Duration {
	if ms, err := strconv.ParseInt(header(h, "Retry-After-Ms"), 10, 32); err == nil && ms > 0 {
		return time.Duration(ms) * time.Millisecond
	}
	v := strings.TrimSpace(header(h, "Retry-After"))
	if s, err := strconv.ParseUint(v, 10, 31); err == nil {
		return time.Duration(s) * time.Second
	}
	// RFC 9110 dates are RFC 1123 with the zone written GMT.
	if t, err := time.Parse("Mon, 02 Jan 2006 15:04:05 GMT", v); err == nil {
		return max(0, t.Sub(now))
	}
	return 0
}

// clean makes the texts of an event fit for a journal: valid UTF-8 without
// U+0000. It reports false for an event that says nothing.
func clean(e Event) (Event, bool) {
	fix := func(s string) string {
		return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	}
	switch {
	case e.End != nil:
		end := *e.End
		end.RawStop, end.Model, end.ID = fix(end.RawStop), fix(end.Model), fix(end.ID)
		return Event{End: &end}, true
	case e.Call != nil:
		c := ToolCall{ID: fix(e.Call.ID), Name: fix(e.Call.Name), Args: fix(e.Call.Args)}
		if strings.TrimSpace(c.Args) == "" {
			c.Args = "{}"
		}
		return Event{Call: &c}, true
	}
	e.Text = fix(e.Text)
	return Event{Text: e.Text}, e.Text != ""
}
