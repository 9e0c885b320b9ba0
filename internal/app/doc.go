// Package app builds Witan out of its parts and runs it: configuration, wiring,
// the subscriptions table, and the glue between domains that do not know each
// other.
//
// New builds and starts nothing; Run runs the services in order and returns the
// first fatal error. subscriptions.go is the whole message flow on one screen.
//
// It may import everything; only cmd and harness import it. Goroutines belong
// to the lifecycle group of Run.
package app
