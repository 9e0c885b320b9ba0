// Package fakeworld is the outside world of the torture tests: an HTTP server
// that does effects, counts them where no crash of Witan can lose the count, and
// misbehaves on demand.
//
// It lives in the process of the test, not in the one that is killed. Every
// effect is one line of an append-only file, synced before it is answered; a
// World opened on that file again knows all of it.
//
// The four classes of effect, as the world sees them:
//
//	read         may be asked again; nothing changes outside
//	idempotent   the world honours the key: a repeat gets the first answer
//	reconcilable the world forgets to compare keys (a repeat is a second effect),
//	             but tells on request whether a key has arrived
//	once         the world neither compares keys nor tells
//
// A reconcilable or once effect whose key is counted twice is a doubled effect,
// and so is an idempotent one: there the world's promise would be broken.
//
// Over HTTP:
//
//	POST /act/{class}    Idempotency-Key: KEY -> 200 {"key","class","serial"}
//	GET  /effects/{key}  200 the same, 404 never arrived, 403 once: not told
//	GET  /counts         200 {"effects","reads","repeats","doubled"}
//	POST /tell           a Behaviour: how the next acts go wrong
//
// It imports the standard library only. Server.Close waits for its goroutines.
package fakeworld
