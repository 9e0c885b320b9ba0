package event

import "github.com/witan-run/witan/internal/kit/id"

// MemoryStored says that a memory row was written.
type MemoryStored struct {
	MemoryID    id.ID  `json:"memoryId"`
	Kind        string `json:"kind"`      // episodic, semantic, procedural, autobiographical
	Epistemic   string `json:"epistemic"` // observed, told, inferred, imagined, generated
	Scope       string `json:"scope"`     // account, workspace:ID, agent:NAME, mind:ID
	Sensitivity string `json:"sensitivity"`
	Title       string `json:"title"`
	Body        string `json:"body"`
	Source      string `json:"source"` // principal it comes from
	By          string `json:"by"`     // principal that wrote it
}

// MemoryHit is one result of a recall, with the scores that ranked it.
type MemoryHit struct {
	MemoryID id.ID            `json:"memoryId"`
	Score    int64            `json:"score"` // micro-units
	Parts    map[string]int64 `json:"parts"` // component scores, micro-units
}

// MemoryRetrieved says what a recall found.
type MemoryRetrieved struct {
	Query   string      `json:"query"`
	Scope   string      `json:"scope"`   // the scopes searched, joined by commas
	Ranking string      `json:"ranking"` // name of the formula and its constants
	Hits    []MemoryHit `json:"hits"`
	By      string      `json:"by"`
}

// EventType and sealed close the set of payloads.
func (MemoryStored) EventType() Type    { return "memory.stored" }
func (MemoryRetrieved) EventType() Type { return "memory.retrieved" }

func (MemoryStored) sealed()    {}
func (MemoryRetrieved) sealed() {}

var memoryRows = []Row{
	row[MemoryStored](1, layers(LayerExecution), classes(ClassSkill), "A memory was written."),
	row[MemoryRetrieved](1, layers(LayerExecution), classes(ClassSkill), "What a recall found, with its scores."),
	row[ReminderSet](1, layers(LayerExecution), classes(ClassSkill), "A message was asked for at a later time."),
	row[ReminderCancelled](1, layers(LayerExecution), classes(ClassSkill), "A reminder will not come."),
	row[ReminderFired](1, layers(LayerExecution), classes(ClassSkill), "A reminder came due."),
}
