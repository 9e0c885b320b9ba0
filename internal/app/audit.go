package app

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
	"github.com/witan-run/witan/internal/store"
)

// AuditVerify checks the chain of every account offline: it reads stored bytes,
// needs no key and writes nothing. It prints one line per account and returns a
// fault of kind Corrupt that names the first bad seq.
func AuditVerify(ctx context.Context, c Config, o VerifyOptions, w io.Writer) error {
	var marks []store.Checkpoint
	if o.Checkpoint != "" {
		var err error
		if marks, err = readCheckpoints(o.Checkpoint); err != nil {
			return err
		}
	}
	j, closeIt, err := openReader(ctx, c)
	if err != nil {
		return err
	}
	defer closeIt()
	accounts, err := store.Accounts(ctx, j)
	if err != nil {
		return err
	}
	if len(accounts) == 0 {
		return fault.New(fault.NotFound, "there is no journal here").On("data")
	}
	pinned := pinnedKeys(c)
	for _, a := range accounts {
		r, err := store.VerifyChain(ctx, j, a, marks)
		if err != nil {
			return firstBad(a, err)
		}
		line := fmt.Sprintf("verified %d events, head %d %s", r.Events, r.Head, hex.EncodeToString(r.Hash[:]))
		if r.Base > 0 {
			line += fmt.Sprintf(", chain begins at signed base %d", r.Base)
			if o.Archive != "" {
				n, err := store.VerifyArchive(ctx, j, a, o.Archive)
				if err != nil {
					return firstBad(a, err)
				}
				line += fmt.Sprintf(", joined to %d archived events", n)
			}
		}
		if r.Erased > 0 {
			line += fmt.Sprintf(", %d erased bodies", r.Erased)
		}
		fmt.Fprintln(w, line+metTips(a, marks, pinned))
	}
	return nil
}

// VerifyOptions name what the chain is held against.
type VerifyOptions struct {
	Checkpoint string // file of signed checkpoints
	Archive    string // folder of cut segments
}

// firstBad names the first event that breaks the chain.
func firstBad(account id.ID, err error) error {
	var bad *store.BadEvent
	if errors.As(err, &bad) {
		return fault.New(fault.Corrupt, "account %s: first bad event %d: %s", account, bad.Seq, bad.Reason)
	}
	return err
}

// metTips says which outside tip the chain was held against: a chain that is
// checked only against itself proves little.
func metTips(a id.ID, marks []store.Checkpoint, pinned []secret.PublicKey) string {
	n, strange := 0, 0
	for _, m := range marks {
		if m.Account == a {
			n++
			if !m.Pinned(pinned) {
				strange++
			}
		}
	}
	switch {
	case n == 0:
		return "; held against no outside checkpoint"
	case strange > 0:
		return fmt.Sprintf("; meets %d checkpoints, %d of them signed by a key that is not in the keyring", n, strange)
	}
	return fmt.Sprintf("; meets %d signed checkpoints", n)
}

func pinnedKeys(c Config) []secret.PublicKey {
	k, err := secret.Open(Paths{c.Data}.Keyring(), secret.Options{})
	if err != nil {
		return nil
	}
	return k.PublicKeys(secret.PurposeCheckpoint)
}

// openReader opens a database for reading only, also beside a running Witan.
func openReader(ctx context.Context, c Config) (event.Journal, func(), error) {
	if c.Database.Set() {
		return store.OpenReader(ctx, "", c.Database.Reveal().Reveal())
	}
	return store.OpenReader(ctx, Paths{c.Data}.Database(), "")
}

func readCheckpoints(path string) (out []store.Checkpoint, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fault.New(fault.NotFound, "read the checkpoint file: %w", err).On("checkpoint")
	}
	s := bufio.NewScanner(bytes.NewReader(b))
	for s.Scan() {
		if len(bytes.TrimSpace(s.Bytes())) == 0 {
			continue
		}
		var c store.Checkpoint
		if err := json.Unmarshal(s.Bytes(), &c); err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	if len(out) == 0 && s.Err() == nil {
		return nil, fault.New(fault.Invalid, "the file holds no checkpoint").On("checkpoint")
	}
	return out, s.Err()
}
