package work

import (
	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
)

// signalStore is the part of Store that keeps signals, triggers and publishes.
type signalStore interface {
	AddSignal(tx event.Tx, g Signal) error
	SaveSignal(tx event.Tx, g Signal) error
	GetSignal(tx event.Tx, signal id.ID) (Signal, error)
	ShareSignal(tx event.Tx, signal id.ID) (Signal, error)
	LockSignal(tx event.Tx, signal id.ID) (Signal, error)
	SignalByName(tx event.Tx, name string) (Signal, error)
	// ListSignals returns signals in the order in which they were made.
	ListSignals(tx event.Tx, archived bool, after id.ID, limit int) ([]Signal, error)
	CountSignals(tx event.Tx) (int64, error)
	// DropSignal removes a signal with its publishes; its triggers are gone already.
	DropSignal(tx event.Tx, signal id.ID) error

	AddTrigger(tx event.Tx, g Trigger) error
	SaveTrigger(tx event.Tx, g Trigger) error
	GetTrigger(tx event.Tx, trigger id.ID) (Trigger, error)
	LockTrigger(tx event.Tx, trigger id.ID) (Trigger, error)
	DropTrigger(tx event.Tx, trigger id.ID) error
	// TriggersOf returns all triggers of a signal, TriggersEmitting all whose tasks
	// are to publish it, in the order in which they were made.
	TriggersOf(tx event.Tx, signal id.ID) ([]Trigger, error)
	TriggersEmitting(tx event.Tx, signal id.ID) ([]Trigger, error)
	// TriggersInto returns all triggers that make tasks in a workspace.
	TriggersInto(tx event.Tx, workspace id.ID) ([]Trigger, error)
	CountTriggers(tx event.Tx) (int64, error)
	// Chains returns the steps of all chains, but for one trigger's.
	Chains(tx event.Tx, but id.ID) ([]Edge, error)

	// AddPublish records a publish. It reports false, and writes nothing, if its
	// task or its author's key published already.
	AddPublish(tx event.Tx, p Published, key string) (first bool, err error)
	// AddSpawn records a task that a publish made.
	AddSpawn(tx event.Tx, publish id.ID, m Made) error
	PublishOfTask(tx event.Tx, task, signal id.ID) (Published, error)
	PublishOfKey(tx event.Tx, author, key string) (Published, error)
	// ListPublishes returns publishes of a signal, newest first, before one.
	ListPublishes(tx event.Tx, signal, before id.ID, limit int) ([]Published, error)
	// ChainOf returns the chain of the publish that made a task; NotFound if none did.
	ChainOf(tx event.Tx, task id.ID) ([]id.ID, error)
	// TasksOfSignal returns tasks that publishes of a signal made, newest first,
	// before one.
	TasksOfSignal(tx event.Tx, signal, before id.ID, limit int) ([]Task, error)
}
