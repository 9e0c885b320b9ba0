package event

import "github.com/witan-run/witan/internal/kit/id"

// AccountCreated is the first event of every journal.
type AccountCreated struct {
	Name string `json:"name"`
}

// PersonSaved says that a person was made or changed.
type PersonSaved struct {
	PersonID id.ID  `json:"personId"`
	Name     string `json:"name"`
	SignIn   string `json:"signIn"`
	Role     string `json:"role"`  // owner, operator, viewer
	State    string `json:"state"` // active, disabled
	By       string `json:"by"`
}

// CredentialChanged says that a way to sign in was added or removed. It never
// holds the credential.
type CredentialChanged struct {
	PersonID id.ID  `json:"personId"`
	Kind     string `json:"kind"`   // password, passkey, reset_link, setup_link
	Action   string `json:"action"` // added, removed, renamed, used, withdrawn
	Name     string `json:"name,omitempty"`
	By       string `json:"by"`
}

// SessionChanged says that a person signed in or out.
type SessionChanged struct {
	SessionID id.ID  `json:"sessionId"`
	PersonID  id.ID  `json:"personId"`
	Action    string `json:"action"` // started, verified, ended
	By        string `json:"by"`     // principal; machine for an end that nobody asked for
	How       string `json:"how"`    // password, passkey, setup, reset; ended: sign_out, revoked, replaced, expired, password, disabled, reset, restore
}

// SignInRefused says that a sign-in failed. SignIn is empty unless the name
// belongs to a person: people type passwords into name fields.
type SignInRefused struct {
	SignIn string `json:"signIn"`
	How    string `json:"how,omitempty"` // password, passkey, step_up
	Reason string `json:"reason"`        // wrong, limited (wrong, and it began a lock), disabled, cloned
}

// TokenChanged says that a personal API token was made or revoked.
type TokenChanged struct {
	TokenID  id.ID  `json:"tokenId"`
	PersonID id.ID  `json:"personId"`
	Name     string `json:"name"`
	Prefix   string `json:"prefix"`
	Narrowed string `json:"narrowed,omitempty"`  // the role it is narrowed to
	Expires  int64  `json:"expiresAt,omitempty"` // microseconds; 0 means never
	Action   string `json:"action"`              // created, revoked
	By       string `json:"by"`
}

// VaultChanged says that a named secret was stored or deleted. It never holds
// the secret, nor anything derived from it.
type VaultChanged struct {
	Name   string `json:"name"`
	Action string `json:"action"` // stored, deleted
	By     string `json:"by"`
}

// EventType and sealed close the set of payloads.
func (AccountCreated) EventType() Type    { return "account.created" }
func (PersonSaved) EventType() Type       { return "person.saved" }
func (CredentialChanged) EventType() Type { return "credential.changed" }
func (SessionChanged) EventType() Type    { return "session.changed" }
func (SignInRefused) EventType() Type     { return "signin.refused" }
func (TokenChanged) EventType() Type      { return "token.changed" }
func (VaultChanged) EventType() Type      { return "vault.changed" }

func (AccountCreated) sealed()    {}
func (PersonSaved) sealed()       {}
func (CredentialChanged) sealed() {}
func (SessionChanged) sealed()    {}
func (SignInRefused) sealed()     {}
func (TokenChanged) sealed()      {}
func (VaultChanged) sealed()      {}

var identityRows = []Row{
	row[AccountCreated](1, layers(LayerDispatch), classes(ClassIdentity), "An account begins."),
	row[PersonSaved](1, layers(LayerDispatch), classes(ClassIdentity), "A person was made or changed."),
	row[CredentialChanged](1, layers(LayerDispatch), classes(ClassIdentity), "A way to sign in was added, used or removed."),
	row[SessionChanged](1, layers(LayerDispatch), classes(ClassIdentity), "A person signed in or out."),
	row[SignInRefused](1, layers(LayerDispatch), classes(ClassIdentity), "A sign-in failed."),
	row[TokenChanged](1, layers(LayerDispatch), classes(ClassIdentity), "A personal API token was made or revoked."),
	row[VaultChanged](1, layers(LayerDispatch), classes(ClassIdentity), "A named secret was stored or deleted."),
}
