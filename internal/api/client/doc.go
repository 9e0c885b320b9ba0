// Package client is the typed client of Witan's HTTP API. The command line is
// one; an outside program may be another.
//
// It finds a Witan by URL and token, or by the socket in a data folder, and
// turns every problem document (RFC 9457) back into a fault with its kind.
//
// It imports kit only and starts no goroutine.
package client
