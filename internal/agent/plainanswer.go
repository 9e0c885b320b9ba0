package agent

import (
	"encoding/json"
	"strings"
	"time"
)

// plainAnswer puts a result into words. It says what the record says; a result
// that is not confirmed is named by undone, below the answer.
func plainAnswer(cmd plainRead, r result, zone *time.Location) string {
	if r.is.State != stateConfirmed {
		switch r.is.State {
		case "denied", "refused":
			return "I may not do that."
		case "unknown":
			return "I cannot say whether that was done."
		}
		return "That did not work."
	}
	switch cmd.verb {
	case "remember":
		return "Remembered: “" + cmd.text + "”."
	case "note":
		return "Added a line to " + cmd.path + "."
	case "remind":
		return "I will write to you here on " + cmd.due.In(zone).Format("Mon 2 Jan 2006, 15:04 -07:00") + ": “" + cmd.text + "”."
	case "recall":
		return plainList(r.is.Output, "I remember nothing about that.")
	case "what's waiting":
		return plainList(r.is.Output, "Nothing waits.")
	}
	return string(r.is.Output)
}

// plainList renders the list in a result, one line an item: its title or text,
// then its score or note.
func plainList(raw json.RawMessage, none string) string {
	var out map[string]json.RawMessage
	if json.Unmarshal(raw, &out) != nil {
		return string(raw)
	}
	var items []map[string]json.RawMessage
	found := false
	for _, key := range []string{"hits", "items", "memories", "results", "waiting"} {
		if list, ok := out[key]; ok && json.Unmarshal(list, &items) == nil {
			found = true
			break
		}
	}
	if !found {
		return string(raw)
	}
	if len(items) == 0 {
		return none
	}
	lines := make([]string, 0, len(items))
	for _, item := range items {
		line := first(item, "title", "text", "summary", "name")
		if body := first(item, "text", "body"); body != "" && body != line {
			line += ": " + clipText(strings.Join(strings.Fields(body), " "), 200)
		}
		if extra := first(item, "note", "key", "score"); extra != "" {
			line += " (" + extra + ")"
		}
		lines = append(lines, "- "+line)
	}
	return strings.Join(lines, "\n")
}

// first returns the first of the named fields that is there: a string as it is,
// anything else as its JSON.
func first(item map[string]json.RawMessage, keys ...string) string {
	for _, k := range keys {
		raw, ok := item[k]
		if !ok {
			continue
		}
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		if text != "" {
			return text
		}
	}
	return ""
}
