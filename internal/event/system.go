package event

import "github.com/witan-run/witan/internal/kit/id"

// TimerFired says that a due moment came. Each due row fires once.
type TimerFired struct {
	Kind  string `json:"kind"`
	Key   string `json:"key"`
	DueAt int64  `json:"dueAt"` // microseconds
}

// SubjectErased says that a subject's data key was destroyed.
type SubjectErased struct {
	Subject id.ID  `json:"subjectId"`
	By      string `json:"by"`
	Rows    int64  `json:"rows"` // projections purged
}

// EpochStarted says that a restore or a failover began a new epoch.
type EpochStarted struct {
	Epoch     int   `json:"epoch"`
	FromSeq   int64 `json:"fromSeq"`   // last seq that was kept
	Held      int   `json:"held"`      // effects and deliveries held for a person
	BackupAt  int64 `json:"backupAt"`  // microseconds
	Sessions  int   `json:"sessions"`  // sessions ended
	Schedules int   `json:"schedules"` // timers held
}

// SubscriberParked says that a reaction failed twice on a stream; later events
// of that stream queue behind it.
type SubscriberParked struct {
	Subscriber string `json:"subscriber"`
	StreamID   id.ID  `json:"streamId"`
	EventID    id.ID  `json:"eventId"`
	ErrorKind  string `json:"errorKind"`
	Error      string `json:"error"`
}

// SubscriberUnparked says that a person let a parked stream go on.
type SubscriberUnparked struct {
	Subscriber string `json:"subscriber"`
	StreamID   id.ID  `json:"streamId"`
	By         string `json:"by"`
	Skip       bool   `json:"skip"` // the failing event was given up
}

// CheckpointSigned records a signed tip of the chain.
type CheckpointSigned struct {
	AtSeq int64  `json:"atSeq"`
	Hash  string `json:"hash"`
	KeyID string `json:"keyId"`
	Sig   string `json:"sig"`
}

// SegmentCut says that a sealed prefix left the database for an archive.
type SegmentCut struct {
	FromSeq int64  `json:"fromSeq"`
	ToSeq   int64  `json:"toSeq"`
	Hash    string `json:"hash"` // of the last event cut: the chain's signed base
	Archive string `json:"archive"`
	By      string `json:"by"`
}

// WorkHeld says that leased work waits for a person, and why.
type WorkHeld struct {
	Kind   string `json:"kind"`
	WorkID id.ID  `json:"workId"`
	Reason string `json:"reason"` // restore, poison
}

// WorkReleased says that a person let go on what a restore had held.
type WorkReleased struct {
	By     string `json:"by"`
	Work   int    `json:"work"`   // runs and deliveries
	Timers int    `json:"timers"` // schedules
}

// EventType and sealed close the set of payloads.
func (TimerFired) EventType() Type         { return "timer.fired" }
func (SubjectErased) EventType() Type      { return "subject.erased" }
func (EpochStarted) EventType() Type       { return "epoch.started" }
func (SubscriberParked) EventType() Type   { return "subscriber.parked" }
func (SubscriberUnparked) EventType() Type { return "subscriber.unparked" }
func (CheckpointSigned) EventType() Type   { return "checkpoint.signed" }
func (SegmentCut) EventType() Type         { return "segment.cut" }
func (WorkHeld) EventType() Type           { return "work.held" }
func (WorkReleased) EventType() Type       { return "work.released" }

func (TimerFired) sealed()         {}
func (SubjectErased) sealed()      {}
func (EpochStarted) sealed()       {}
func (SubscriberParked) sealed()   {}
func (SubscriberUnparked) sealed() {}
func (CheckpointSigned) sealed()   {}
func (SegmentCut) sealed()         {}
func (WorkHeld) sealed()           {}
func (WorkReleased) sealed()       {}

var systemRows = []Row{
	row[TimerFired](1, layers(LayerSystem), classes(ClassSystem), "A due moment came."),
	row[SubjectErased](1, layers(LayerSystem), classes(ClassSystem), "A subject's data key was destroyed."),
	row[EpochStarted](1, layers(LayerSystem), classes(ClassSystem), "A restore or failover began a new epoch."),
	row[SubscriberParked](1, layers(LayerSystem), classes(ClassSystem), "A reaction failed twice; its stream waits."),
	row[SubscriberUnparked](1, layers(LayerSystem), classes(ClassSystem), "A parked stream goes on."),
	row[CheckpointSigned](1, layers(LayerSystem), classes(ClassSystem), "A signed tip of the chain."),
	row[SegmentCut](1, layers(LayerSystem), classes(ClassSystem), "A sealed prefix left for an archive."),
	row[WorkHeld](1, layers(LayerSystem), classes(ClassSystem), "Leased work waits for a person."),
	row[WorkReleased](1, layers(LayerSystem), classes(ClassSystem), "What a restore held goes on."),
}
