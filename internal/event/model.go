package event

import (
	"encoding/json"

	"github.com/witan-run/witan/internal/kit/id"
)

// LLMRequest is a model call about to leave. Its budget is reserved with it.
type LLMRequest struct {
	CallID    id.ID           `json:"callId"`
	RunID     id.ID           `json:"runId,omitzero"`
	Step      int             `json:"step"`
	Role      string          `json:"role"`
	Provider  string          `json:"provider"`
	Model     string          `json:"model"`
	Prompt    string          `json:"prompt"`            // NAME@N
	Rendered  string          `json:"rendered"`          // digest of the canonical request
	Request   json.RawMessage `json:"request,omitempty"` // canonical request
	Reserved  int64           `json:"reserved"`          // micro-USD
	MaxTokens int             `json:"maxTokens"`
}

// LLMResponse is the recorded answer of a model, or why there is none.
type LLMResponse struct {
	CallID    id.ID           `json:"callId"`
	RunID     id.ID           `json:"runId,omitzero"`
	Step      int             `json:"step"`
	Response  json.RawMessage `json:"response,omitempty"` // canonical response
	Digest    string          `json:"digest"`
	Stop      string          `json:"stop"`
	TokensIn  int64           `json:"tokensIn"`
	TokensOut int64           `json:"tokensOut"`
	Cost      int64           `json:"cost"` // micro-USD
	CostKnown bool            `json:"costKnown"`
	LatencyUS int64           `json:"latencyUs"`
	Attempts  int             `json:"attempts"`
	ErrorKind string          `json:"errorKind,omitempty"`
	Error     string          `json:"error,omitempty"`
}

// PromptSaved says that a prompt has a new number.
type PromptSaved struct {
	Name   string `json:"name"`
	Number int    `json:"number"`
	Digest string `json:"digest"`
	By     string `json:"by"`
}

// BudgetMet says that a budget stopped a call.
type BudgetMet struct {
	Scope string `json:"scope"` // run:ID, agent:NAME, day:YYYY-MM-DD
	Unit  string `json:"unit"`  // tokens, usd_micro
	Limit int64  `json:"limit"`
	Spent int64  `json:"spent"`
	Asked int64  `json:"asked"`
}

// EventType and sealed close the set of payloads.
func (LLMRequest) EventType() Type  { return "llm.request" }
func (LLMResponse) EventType() Type { return "llm.response" }
func (PromptSaved) EventType() Type { return "prompt.saved" }
func (BudgetMet) EventType() Type   { return "budget.met" }

func (LLMRequest) sealed()  {}
func (LLMResponse) sealed() {}
func (PromptSaved) sealed() {}
func (BudgetMet) sealed()   {}

var modelRows = []Row{
	row[LLMRequest](1, layers(LayerAgent), classes(ClassAgent, ClassModel), "A model call is about to leave; its budget is reserved."),
	row[LLMResponse](1, layers(LayerAgent), classes(ClassAgent, ClassModel), "A model's recorded answer, or why there is none."),
	row[PromptSaved](1, layers(LayerAgent), classes(ClassModel), "A prompt has a new number."),
	row[BudgetMet](1, layers(LayerAgent), classes(ClassAgent, ClassModel), "A budget stopped a model call."),
}
