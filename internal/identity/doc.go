// Package identity knows who may come in: the account, its people and their
// roles, passwords and passkeys, sessions, personal API tokens, the one-time
// setup and reset links, the limits on sign-in, and the vault.
//
// Invariants:
//   - there is no default secret and no self-registration: the first owner comes
//     in by a one-time setup link, everybody else by an owner or by the machine
//   - after the first owner setup is closed for ever
//   - an account always has an owner who is active; a person always keeps one way
//     to sign in
//   - links, challenges and limits hold under concurrency and survive a restart
//   - a secret is shown once, stored as a digest only, and is never in an event,
//     an error or a log (INV-12)
//   - a refused sign-in costs the same and says the same whether the name exists
//   - what somebody may do is one table, Rows: routes, commands and tools each
//     name an Act of it
//
// Passwords are hashed and signatures verified before a transaction is opened,
// never inside one. Rows of bookkeeping (try counters, challenges, "last seen")
// change without an event; everything else that changes has its event in the
// same commit (INV-1).
//
// It imports kit, event, golang.org/x/crypto, golang.org/x/text and go-webauthn.
// It starts no goroutine: a Service is a value that callers share.
package identity
