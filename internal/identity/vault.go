package identity

import (
	"context"
	"regexp"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
)

// maxSecret bounds one stored secret, in bytes.
const maxSecret = 64 << 10

var secretName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// Vault keeps named secrets of an account, sealed with a key of the keyring
// that is bound to account and name: a row that is copied to another name or
// account does not open. Values come out through Get only, inside the process;
// no route, command or event ever shows one.
type Vault struct{ s *Service }

// Vault returns the vault of this service.
func (s *Service) Vault() Vault { return Vault{s} }

// VaultEntry describes a stored secret without its value.
type VaultEntry struct {
	Name      string
	CreatedAt time.Time
	UpdatedAt time.Time
	By        string // who stored it last
}

func vaultAAD(account id.ID, name string) []byte {
	return append(append([]byte("witan/vault/1\x00"), account[:]...), name...)
}

func checkSecretName(name string) error {
	if !secretName.MatchString(name) {
		return fault.New(fault.Invalid, "a secret's name has lower-case letters, digits and . _ - and at most 64 of them").On("name")
	}
	return nil
}

// Put stores a secret under a name, over an older one of that name.
func (v Vault) Put(ctx context.Context, account id.ID, by Principal, name string, value secret.String) error {
	if err := v.s.authorize(account, by, ActVaultWrite); err != nil {
		return err
	}
	if err := checkSecretName(name); err != nil {
		return err
	}
	if n := len(value.Reveal()); n == 0 || n > maxSecret {
		return fault.New(fault.Invalid, "a secret has 1 to %d bytes", maxSecret).On("value")
	}
	sealed, err := v.s.keyring.Seal(secret.PurposeVault, []byte(value.Reveal()), vaultAAD(account, name))
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "seal the secret "+name)
	}
	return v.s.journal.Do(ctx, account, func(tx event.Tx) error {
		e := VaultEntry{Name: name, CreatedAt: tx.Now(), UpdatedAt: tx.Now(), By: by.By()}
		if err := v.s.store.SaveSecret(tx, e, sealed); err != nil {
			return err
		}
		return v.changed(tx, name, "stored", by)
	})
}

func (v Vault) changed(tx event.Tx, name, action string, by Principal) error {
	return v.s.emit(tx, event.VaultChanged{Name: name, Action: action, By: by.By()}, id.Nil, by.Label(),
		"The secret %s was %s.", name, action)
}

// Get reveals a secret to code in this process. NotFound if there is none,
// Corrupt if the row does not open: it was edited, moved, or its key is gone.
func (v Vault) Get(ctx context.Context, account id.ID, name string) (secret.String, error) {
	sealed, err := view(ctx, v.s, account, func(tx event.Tx) ([]byte, error) {
		b, found, err := v.s.store.FindSecret(tx, name)
		if err == nil && !found {
			err = fault.New(fault.NotFound, "there is no secret named %q", name).On("name")
		}
		return b, err
	})
	if err != nil {
		return secret.String{}, err
	}
	plain, err := v.s.keyring.Open(secret.PurposeVault, sealed, vaultAAD(account, name))
	if err != nil {
		return secret.String{}, fault.New(fault.Corrupt, "the secret %s does not open: %w", name, err)
	}
	return secret.New(string(plain)), nil
}

// List lists the names of the stored secrets.
func (v Vault) List(ctx context.Context, account id.ID, by Principal) ([]VaultEntry, error) {
	if err := v.s.authorize(account, by, ActVaultRead); err != nil {
		return nil, err
	}
	return view(ctx, v.s, account, v.s.store.ListSecrets)
}

// Delete deletes a secret; NotFound if there is none.
func (v Vault) Delete(ctx context.Context, account id.ID, by Principal, name string) error {
	if err := v.s.authorize(account, by, ActVaultWrite); err != nil {
		return err
	}
	return v.s.journal.Do(ctx, account, func(tx event.Tx) error {
		ok, err := v.s.store.DeleteSecret(tx, name)
		if err != nil || !ok {
			return orElse(err, fault.New(fault.NotFound, "there is no secret named %q", name).On("name"))
		}
		return v.changed(tx, name, "deleted", by)
	})
}
