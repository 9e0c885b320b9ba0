package agent

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/llm"
)

func itoa(n int) string { return strconv.Itoa(n) }

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// fence is the word that frames data blocks of a run. It comes from the run's
// id, which no writer could know, and is changed until no text holds it: so no
// text can close its own block.
func (in Inputs) fence() string {
	for n := byte(0); ; n++ {
		sum := canon.Digest("witan/fence", in.Run.ID[:], []byte{n})
		word := hex.EncodeToString(sum[:5])
		if !in.holds(word) {
			return word
		}
	}
}

func (in Inputs) holds(word string) bool {
	for _, list := range [][]Turn{in.Turns, in.Fold} {
		for _, t := range list {
			if strings.Contains(t.Text, word) || strings.Contains(t.Files, word) {
				return true
			}
		}
	}
	return in.Summary != nil && strings.Contains(in.Summary.Text, word)
}

// block frames a text as data. head is ours; text is anybody's.
func block(fence, name, head, text string) string {
	return fmt.Sprintf("--- begin data %s %s (%s) ---\n%s\n--- end data %s %s ---", fence, name, head, text, fence, name)
}

// turnBlock renders a turn of the thread as data.
func (in Inputs) turnBlock(fence, name string, t Turn) string {
	kind := "message"
	switch t.Role {
	case TurnNote:
		kind = "note"
	case TurnSummary:
		kind = fmt.Sprintf("summary of %d earlier turns", t.Covers)
	}
	head := kind + ", label " + t.Label.Integrity().String()
	if t.Role == TurnUser || t.Role == TurnAssistant {
		head += ", from " + oneLine(t.Author)
		if t.Channel != "" {
			head += ", channel " + oneLine(t.Channel)
		}
	}
	if !t.At.IsZero() && t.Role != TurnSummary {
		head += ", at " + t.At.UTC().Format("2006-01-02T15:04:05Z")
	}
	text := t.Text
	if !in.shown(t.Label) {
		text = "[withheld: less trusted than the one you work for]"
		head += ", " + strconv.Itoa(len(t.Text)) + " bytes"
	}
	if t.Role == TurnUser {
		head += ", handles " + strings.Join(messageSource(name, t).handles(8), " ")
		if t.Files != "" && in.shown(t.Label) {
			text += "\n[files]\n" + t.Files
		}
	}
	return block(fence, name, head, text)
}

// oneLine keeps a value from adding lines to a block's head.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == '(' || r == ')' {
			return '_'
		}
		return r
	}, s)
}

// base is the conversation before the model's first word.
func (in Inputs) base() []llm.Message {
	fence := in.fence()
	local := in.now().UTC()
	if z, err := loadZone(in.Start.Zone); err == nil {
		local = in.now().In(z)
	}
	facts := fmt.Sprintf("You are %s. It is %s (%s). You work for %s, who writes on channel %s.",
		in.Definition.Name, local.Format("Monday 2006-01-02 15:04 -07:00"), in.Start.Zone, oneLine(in.Task.Requester), oneLine(in.Task.Channel))
	out := []llm.Message{llm.UserText(facts)}
	if in.Summary != nil {
		out = append(out, llm.UserText(in.turnBlock(fence, "summary", *in.Summary)))
	}
	for i, t := range in.Turns {
		if t.Role == TurnAssistant && t.Author == "agent:"+in.Definition.Name && in.shown(t.Label) && strings.TrimSpace(t.Text) != "" {
			out = append(out, llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{{Text: t.Text}}})
			continue
		}
		out = append(out, llm.UserText(in.turnBlock(fence, in.turnName(i), t)))
	}
	return out
}

// turnName numbers turns from the newest: msg1 is what the run answers.
func (in Inputs) turnName(i int) string { return "msg" + strconv.Itoa(len(in.Turns)-i) }

// foldMessages is what the summariser reads.
func (in Inputs) foldMessages(prior *Turn) []llm.Message {
	fence := in.fence()
	out := []llm.Message{}
	if prior != nil {
		out = append(out, llm.UserText(in.turnBlock(fence, "summary", *prior)))
	}
	for i, t := range in.Fold {
		out = append(out, llm.UserText(in.turnBlock(fence, "old"+strconv.Itoa(i+1), t)))
	}
	return append(out, llm.UserText("Write the summary now."))
}
