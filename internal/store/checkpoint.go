package store

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
)

// Checkpoint is a signed tip of an account's chain. Kept outside the machine
// (a file, a mail, a git repository) it finds a chain rewritten from genesis.
type Checkpoint struct {
	Account   id.ID
	Epoch     int64
	Seq       int64
	Hash      [32]byte
	At        time.Time
	Signature []byte           // over Message, by a key of purpose checkpoint
	Key       secret.PublicKey // the key that signed it
}

// message is the signed text of a checkpoint.
func (c Checkpoint) message() []byte {
	b := append([]byte("witan/checkpoint/1\n"), c.Account[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(c.Epoch))
	b = binary.BigEndian.AppendUint64(b, uint64(c.Seq))
	b = append(b, c.Hash[:]...)
	return binary.BigEndian.AppendUint64(b, uint64(clock.Micros(c.At)))
}

type checkpointJSON struct {
	Account   id.ID  `json:"account"`
	Epoch     int64  `json:"epoch"`
	Seq       int64  `json:"seq"`
	Hash      string `json:"hash"`
	At        string `json:"at"`
	KeyID     string `json:"keyId"`
	PublicKey string `json:"publicKey"`
	Signature string `json:"signature"`
}

// MarshalJSON writes one line of a checkpoint file.
func (c Checkpoint) MarshalJSON() ([]byte, error) {
	b64 := base64.StdEncoding.EncodeToString
	return json.Marshal(checkpointJSON{c.Account, c.Epoch, c.Seq, hex.EncodeToString(c.Hash[:]), c.At.Format(time.RFC3339Nano),
		c.Key.ID.String(), b64(c.Key.Key), b64(c.Signature)})
}

// UnmarshalJSON reads one line and checks its signature with the key it names;
// whether that key is ours is for the caller to ask (Pinned).
func (c *Checkpoint) UnmarshalJSON(raw []byte) error {
	var j checkpointJSON
	if err := json.Unmarshal(raw, &j); err != nil {
		return fault.New(fault.Invalid, "the checkpoint is no JSON object: %w", err).On("checkpoint")
	}
	bad := func(field string) error {
		return fault.New(fault.Invalid, "the checkpoint's %s cannot be read", field).On("checkpoint")
	}
	hash, err := hex.DecodeString(j.Hash)
	if err != nil || len(hash) != 32 {
		return bad("hash")
	}
	at, err := time.Parse(time.RFC3339Nano, j.At)
	if err != nil {
		return bad("time")
	}
	kid, err := hex.DecodeString(j.KeyID)
	if err != nil || len(kid) != len(secret.KeyID{}) {
		return bad("key id")
	}
	pub, err := base64.StdEncoding.DecodeString(j.PublicKey)
	if err != nil {
		return bad("public key")
	}
	sig, err := base64.StdEncoding.DecodeString(j.Signature)
	if err != nil {
		return bad("signature")
	}
	*c = Checkpoint{Account: j.Account, Epoch: j.Epoch, Seq: j.Seq, Hash: [32]byte(hash), At: at.UTC(), Signature: sig,
		Key: secret.PublicKey{ID: secret.KeyID(kid), Purpose: secret.PurposeCheckpoint, Key: pub}}
	if err := secret.VerifyWith([]secret.PublicKey{c.Key}, c.message(), sig); err != nil {
		return fault.New(fault.Corrupt, "the checkpoint's signature does not fit: %w", err).On("checkpoint")
	}
	return nil
}

// Pinned reports whether the checkpoint was signed by one of the known keys.
func (c Checkpoint) Pinned(known []secret.PublicKey) bool {
	for _, k := range known {
		if k.ID == c.Key.ID && k.Key.Equal(c.Key.Key) {
			return true
		}
	}
	return false
}

// SignCheckpoint signs the account's tip and records that it did.
func (db *DB) SignCheckpoint(ctx context.Context, account id.ID, o event.Origin) (c Checkpoint, err error) {
	err = db.View(ctx, account, func(t event.Tx) error {
		tip, hash, err := HeadOf(t)
		c = Checkpoint{Account: account, Epoch: tip.Epoch, Seq: tip.Seq, Hash: hash, At: db.clock.Now()}
		return err
	})
	if err != nil {
		return c, err
	}
	if c.Seq == 0 {
		return c, fault.New(fault.NotFound, "the journal of account %s is empty", account)
	}
	if c.Signature, err = db.keyring.Sign(secret.PurposeCheckpoint, c.message()); err != nil {
		return c, err
	}
	keys := db.keyring.PublicKeys(secret.PurposeCheckpoint)
	c.Key = keys[len(keys)-1]
	err = db.Do(ctx, account, func(t event.Tx) error {
		_, err := t.Emit(o, event.Draft{
			Payload: event.CheckpointSigned{AtSeq: c.Seq, Hash: hex.EncodeToString(c.Hash[:]), KeyID: c.Key.ID.String(),
				Sig: base64.StdEncoding.EncodeToString(c.Signature)},
			Label: event.NewLabel(event.House, event.AccountWide()), Summary: "The end of the chain was signed.",
		})
		return err
	})
	return c, err
}
