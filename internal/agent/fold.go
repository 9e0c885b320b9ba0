package agent

import (
	"strings"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/llm"
)

const (
	summaryTokens   = 700  // of a summary that a model writes
	maxSummaryBytes = 8192 // of any summary
	excerptBytes    = 160  // of one turn in a summary without a model
)

// askSummary asks for the summary of the turns that no longer fit.
func (in Inputs) askSummary(n int) Move {
	r := llm.Request{System: in.Summariser, Messages: in.foldMessages(in.Summary), MaxTokens: summaryTokens}
	return Move{Ask: &Ask{Step: n, CallID: in.callID(n), Role: summariseRole, Prompt: in.Start.Summariser, Request: r}, Label: in.foldLabel()}
}

// foldLabel is the label of a summary: the join of all that it stands for and
// that it was made from. A summary is never more trusted than its worst turn.
func (in Inputs) foldLabel() event.Label {
	labels := []event.Label{in.StartLabel}
	if in.Summary != nil && in.shown(in.Summary.Label) {
		labels = append(labels, in.Summary.Label)
	}
	for _, t := range in.Fold {
		if in.shown(t.Label) {
			labels = append(labels, t.Label)
		}
	}
	return event.Join(labels...)
}

// summaryOf turns the reply of a summarising step into the summary. A reply that
// failed, was refused or says nothing gives the one that needs no model.
func (in Inputs) summaryOf(s *step) Summary {
	text := strings.TrimSpace(s.answer.Text())
	out := Summary{Step: s.n, Text: clipText(text, maxSummaryBytes), By: "model", Turns: len(in.Fold), Label: in.foldLabel()}
	if in.Summary != nil {
		out.Turns += in.Summary.Covers
	}
	if s.failed.ErrorKind != "" || s.answer.Stop == llm.StopRefusal || text == "" || len(s.answer.Calls()) > 0 {
		out.Text, out.By = in.extract(), "extract"
	}
	return out
}

// extracted is the move that folds old turns without a model.
func (in Inputs) extracted() Move {
	sum := in.summaryOf(&step{})
	return Move{Summary: &sum, Label: sum.Label}
}

// extract is a summary that needs no model: the prior one, then the beginning of
// each turn, oldest first, within the size; the newest turns win the room.
func (in Inputs) extract() string {
	var lines []string
	room := maxSummaryBytes
	if in.Summary != nil && in.shown(in.Summary.Label) {
		prior := clipText(in.Summary.Text, maxSummaryBytes/2)
		lines = append(lines, prior)
		room -= len(prior) + 1
	}
	first := len(lines)
	for i := len(in.Fold) - 1; i >= 0; i-- {
		t := in.Fold[i]
		if !in.shown(t.Label) {
			continue
		}
		text := strings.Join(strings.Fields(t.Text), " ")
		line := oneLine(t.Author) + ": " + clipText(text, excerptBytes)
		if room -= len(line) + 1; room < 0 {
			break
		}
		lines = append(lines, line)
	}
	for i, j := first, len(lines)-1; i < j; i, j = i+1, j-1 {
		lines[i], lines[j] = lines[j], lines[i]
	}
	return strings.Join(lines, "\n")
}
