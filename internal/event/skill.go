package event

import (
	"encoding/json"

	"github.com/witan-run/witan/internal/kit/id"
)

// Argument is how one argument of a call came to be (architecture §7).
// The encoding is fixed here; raising rules come with governance.
type Argument struct {
	Pointer string `json:"pointer"`          // JSON pointer into Arguments
	How     string `json:"how"`              // value, handle, quote
	From    id.ID  `json:"from,omitzero"`    // the event a handle or quote points into
	Field   string `json:"field,omitempty"`  // the typed field that was quoted
	Handle  string `json:"handle,omitempty"` // as the model wrote it: $msg1.from
	Label   string `json:"label"`            // "what", as Label.String
}

// SkillInvoke is a wish to act. Nothing has happened yet.
type SkillInvoke struct {
	RunID     id.ID           `json:"runId,omitzero"`
	Step      int             `json:"step"`
	CallID    string          `json:"callId"`
	Actor     string          `json:"actor"`     // principal: agent:NAME
	Requester string          `json:"requester"` // for whom
	Workspace id.ID           `json:"workspace,omitzero"`
	Skill     string          `json:"skill"`
	Manifest  string          `json:"manifest"` // content hash of the manifest
	Catalogue int             `json:"catalogue"`
	Arguments json.RawMessage `json:"arguments"`           // canonical JSON
	What      []Argument      `json:"what,omitempty"`      // provenance per argument
	Trust     int32           `json:"trust"`               // requester's, micro-units
	Reason    string          `json:"reason,omitempty"`    // the agent's words, never a title
	Channel   string          `json:"channel,omitempty"`   // where the requester is
	Recipient string          `json:"recipient,omitempty"` // principal the requester's answer goes to
}

// SkillResult is what became of a call. Output is capped, masked and labelled.
type SkillResult struct {
	EffectID  id.ID           `json:"effectId,omitzero"`
	RunID     id.ID           `json:"runId,omitzero"`
	Step      int             `json:"step"`
	CallID    string          `json:"callId"`
	Skill     string          `json:"skill"`
	State     string          `json:"state"` // confirmed, failed, unknown, denied, refused
	Output    json.RawMessage `json:"output,omitempty"`
	Truncated bool            `json:"truncated,omitempty"`
	ErrorKind string          `json:"errorKind,omitempty"`
	Error     string          `json:"error,omitempty"`
	TookUS    int64           `json:"tookUs"` // microseconds
}

// EffectChanged records one transition of the effect ledger (architecture §5).
type EffectChanged struct {
	EffectID id.ID  `json:"effectId"`
	Skill    string `json:"skill"`
	Class    string `json:"class"` // read, idempotent, reconcilable, once
	State    string `json:"state"` // intended, dispatching, confirmed, failed, unknown, held
	Attempt  int    `json:"attempt"`
	Key      string `json:"key"` // idempotency key
	Reason   string `json:"reason,omitempty"`
}

// EffectSettled is a person's word on an effect whose outcome is unknown.
type EffectSettled struct {
	EffectID id.ID  `json:"effectId"`
	PersonID id.ID  `json:"personId"`
	Outcome  string `json:"outcome"` // happened, did_not, read_back
	Note     string `json:"note,omitempty"`
}

// CatalogueChanged says that the catalogue has a new number.
type CatalogueChanged struct {
	Catalogue int      `json:"catalogue"`
	Digest    string   `json:"digest"`
	Skills    []string `json:"skills"` // NAME@MANIFEST
	By        string   `json:"by"`
}

// PanoSaved says that a shared document has a new revision.
type PanoSaved struct {
	DocumentID id.ID  `json:"documentId"`
	Path       string `json:"path"`
	Revision   int    `json:"revision"`
	Digest     string `json:"digest"`
	Size       int64  `json:"size"`
	By         string `json:"by"`
}

// EventType and sealed close the set of payloads.
func (SkillInvoke) EventType() Type      { return "skill.invoke" }
func (SkillResult) EventType() Type      { return "skill.result" }
func (EffectChanged) EventType() Type    { return "effect.changed" }
func (EffectSettled) EventType() Type    { return "effect.settled" }
func (CatalogueChanged) EventType() Type { return "catalogue.changed" }
func (PanoSaved) EventType() Type        { return "pano.saved" }

func (SkillInvoke) sealed()      {}
func (SkillResult) sealed()      {}
func (EffectChanged) sealed()    {}
func (EffectSettled) sealed()    {}
func (CatalogueChanged) sealed() {}
func (PanoSaved) sealed()        {}

var skillRows = []Row{
	row[SkillInvoke](1, layers(LayerAgent), classes(ClassAgent), "An agent wants to act; nothing has happened yet."),
	row[SkillResult](1, layers(LayerExecution), classes(ClassSkill), "What became of a call."),
	row[EffectChanged](1, layers(LayerExecution), classes(ClassSkill), "An effect moved in the ledger."),
	row[EffectSettled](1, layers(LayerExecution), classes(ClassSkill), "A person settled an effect whose outcome was unknown."),
	row[CatalogueChanged](1, layers(LayerExecution), classes(ClassSkill), "The skill catalogue has a new number."),
	row[PanoSaved](1, layers(LayerExecution), classes(ClassSkill), "A shared document has a new revision."),
}
