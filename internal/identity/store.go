package identity

import (
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
)

// Store keeps identity's rows. All methods act on tx's account; internal/store/
// identitydb implements it. "Find" tells by its bool whether there is a row;
// "Get" returns NotFound. A method that returns a bool without a row says
// whether its condition still held: the caller that gets false lost a race.
type Store interface {
	AccountStore
	PersonStore
	LinkStore
	CredentialStore
	SessionStore
	TokenStore
	LimitStore
	VaultStore

	// AfterCommit runs f when the transaction is durable; f is lost in a crash.
	AfterCommit(tx event.Tx, f func())
}

// AccountStore keeps the account itself.
type AccountStore interface {
	// FindAccount looks an account up by its handle, over all accounts.
	FindAccount(tx event.Tx, handle string) (Account, bool, error)
	// ListAccounts lists all accounts, oldest first.
	ListAccounts(tx event.Tx) ([]Account, error)
	GetAccount(tx event.Tx) (Account, error)
	// AddAccount adds tx's account; false if the handle is taken.
	AddAccount(tx event.Tx, a Account) (bool, error)
	// CloseSetup closes setup; false if it was closed already.
	CloseSetup(tx event.Tx, at time.Time) (bool, error)
}

// PersonStore keeps people.
type PersonStore interface {
	// AddPerson adds a person; false if the sign-in name is taken.
	AddPerson(tx event.Tx, p Person) (bool, error)
	// SavePerson writes p if the stored version is p.Version, and raises it.
	SavePerson(tx event.Tx, p Person) (bool, error)
	GetPerson(tx event.Tx, person id.ID) (Person, error)
	// LockPerson is GetPerson that holds the row until the transaction ends.
	LockPerson(tx event.Tx, person id.ID) (Person, error)
	FindPersonBySignIn(tx event.Tx, signIn string) (Person, bool, error)
	ListPeople(tx event.Tx) ([]Person, error)
	// LockActiveOwners returns the active owners, in order of id, and holds
	// their rows until the transaction ends.
	LockActiveOwners(tx event.Tx) ([]id.ID, error)

	// FindPassword returns the person's password hash.
	FindPassword(tx event.Tx, person id.ID) (phc string, found bool, err error)
	SavePassword(tx event.Tx, person id.ID, phc string, at time.Time) error
	// ReplacePassword swaps one hash for another of the same password; it does
	// nothing if the stored one is no longer old.
	ReplacePassword(tx event.Tx, person id.ID, old, new string) error
	DeletePassword(tx event.Tx, person id.ID) (bool, error)
}

// LinkStore keeps setup and reset links.
type LinkStore interface {
	AddLink(tx event.Tx, l LinkRow) error
	// FindLink returns an unused link, expired or not.
	FindLink(tx event.Tx, kind LinkKind, digest []byte) (LinkRow, bool, error)
	// UseLink marks a link used; false if it is used, expired or unknown.
	UseLink(tx event.Tx, kind LinkKind, digest []byte, at time.Time) (bool, error)
	// WithdrawLinks marks a person's (or, with Nil, the account's) unused links
	// of a kind used.
	WithdrawLinks(tx event.Tx, kind LinkKind, person id.ID, at time.Time) (int64, error)
	// WithdrawAllLinks marks all unused links used.
	WithdrawAllLinks(tx event.Tx, at time.Time) (int64, error)
}

// CredentialStore keeps passkeys and the ceremonies about them.
type CredentialStore interface {
	// AddPasskey adds one; false if the credential is known already.
	AddPasskey(tx event.Tx, p Passkey) (bool, error)
	FindPasskey(tx event.Tx, credential []byte) (Passkey, bool, error)
	ListPasskeys(tx event.Tx, person id.ID) ([]Passkey, error)
	// ListAllPasskeys lists those of everybody.
	ListAllPasskeys(tx event.Tx) ([]Passkey, error)
	// UsedPasskey writes the record after a use; false if another use with the
	// same or a higher counter came first.
	UsedPasskey(tx event.Tx, p Passkey) (bool, error)
	RenamePasskey(tx event.Tx, person, passkey id.ID, name string) (bool, error)
	DeletePasskey(tx event.Tx, person, passkey id.ID) (bool, error)

	AddCeremony(tx event.Tx, c CeremonyRow) error
	FindCeremony(tx event.Tx, digest []byte) (CeremonyRow, bool, error)
	// TakeCeremony deletes a ceremony; false if somebody else took it.
	TakeCeremony(tx event.Tx, digest []byte) (bool, error)
	// PurgeCeremonies deletes expired ones and returns how many are left.
	PurgeCeremonies(tx event.Tx, now time.Time) (left int64, err error)
	DeleteAllCeremonies(tx event.Tx) (int64, error)
}

// SessionStore keeps sessions.
type SessionStore interface {
	AddSession(tx event.Tx, s SessionRow) error
	// FindSession returns a session and its person by the digest of its secret.
	FindSession(tx event.Tx, digest []byte) (SessionRow, Person, bool, error)
	ListSessions(tx event.Tx, person id.ID) ([]Session, error)
	// TouchSession notes use, if it was last noted before "before".
	TouchSession(tx event.Tx, session id.ID, at, before time.Time) error
	// VerifySession notes a fresh proof; false if the session is gone.
	VerifySession(tx event.Tx, person, session id.ID, at time.Time) (bool, error)
	DeleteSession(tx event.Tx, person, session id.ID) (bool, error)
	// DeleteSessions ends the sessions of a person (of everybody, with Nil) but
	// for one, and returns those that it ended.
	DeleteSessions(tx event.Tx, person, but id.ID) ([]Session, error)
	// DeleteDeadSessions deletes a person's sessions that ended by themselves.
	DeleteDeadSessions(tx event.Tx, person id.ID, endedBefore, seenBefore time.Time) ([]Session, error)
}

// TokenStore keeps API tokens.
type TokenStore interface {
	AddToken(tx event.Tx, t TokenRow) error
	// FindToken returns an unrevoked token and its person.
	FindToken(tx event.Tx, digest []byte) (TokenRow, Person, bool, error)
	GetToken(tx event.Tx, token id.ID) (Token, error)
	ListTokens(tx event.Tx, person id.ID) ([]Token, error)
	TouchToken(tx event.Tx, token id.ID, at, before time.Time) error
	// RevokeToken revokes one; false if it was revoked or is another's.
	RevokeToken(tx event.Tx, person, token id.ID, at time.Time) (bool, error)
}

// LimitStore keeps the counters of tries.
type LimitStore interface {
	FindLimit(tx event.Tx, scope string, key []byte) (LimitRow, bool, error)
	// LockLimit returns the row, made if need be, held until the transaction ends.
	LockLimit(tx event.Tx, scope string, key []byte) (LimitRow, error)
	SaveLimit(tx event.Tx, scope string, key []byte, l LimitRow) error
	DeleteLimit(tx event.Tx, scope string, key []byte) error
	// PurgeLimits deletes rows that were last touched before a time.
	PurgeLimits(tx event.Tx, before time.Time) error
}

// VaultStore keeps sealed secrets.
type VaultStore interface {
	SaveSecret(tx event.Tx, e VaultEntry, sealed []byte) error
	FindSecret(tx event.Tx, name string) (sealed []byte, found bool, err error)
	ListSecrets(tx event.Tx) ([]VaultEntry, error)
	DeleteSecret(tx event.Tx, name string) (bool, error)
}
