// Package llmtest is the suite that every model adapter passes: one agent
// scenario, and a transport that plays a strict fake of a provider in process and
// can cut its replies at any byte. Only tests import it.
//
// It imports kit and llm only; its transport starts no goroutine.
package llmtest
