package builtin

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/fault"
)

// What a tainted run writes into a file must not come back clean (INV-8). The
// label of a content stands beside the files under its digest, the label of a
// name under the digest of its path, written before the file itself. A file
// that Witan did not write has none: it is the account's own.

const labelDir = ours + "/labels"

// ownFile is the label of what people put into the folder.
func ownFile() event.Label { return event.NewLabel(event.House, event.AccountWide()) }

func contentKey(sum string) string { return "content-" + sum }

func pathKey(p string) string {
	d := sha256.Sum256([]byte(p))
	return "path-" + hex.EncodeToString(d[:])
}

// labelOf returns the label of a key; a label that cannot be read is an error,
// never "clean".
func labelOf(root *os.Root, key string) (event.Label, error) {
	raw, err := root.ReadFile(path.Join(labelDir, key))
	if errors.Is(err, fs.ErrNotExist) {
		return ownFile(), nil
	}
	if err != nil {
		return event.Label{}, fileFault(err)
	}
	l, err := event.ParseLabel(strings.TrimSpace(string(raw)))
	if err != nil || l.IsZero() {
		return event.Label{}, fault.New(fault.Corrupt, "the label of a file is damaged")
	}
	return l, nil
}

// mark lowers the label of a key to its join with l.
func mark(root *os.Root, key, temporary string, l event.Label) error {
	have, err := labelOf(root, key)
	if err != nil {
		return err
	}
	low := event.Join(have, l)
	if low.String() == have.String() {
		return nil
	}
	for _, dir := range []string{ours, labelDir} {
		if err := root.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return fileFault(err)
		}
	}
	if err := syncDir(root, ours); err != nil {
		return err
	}
	return replace(root, path.Join(labelDir, key), temporary, []byte(low.String()), 0o600, false)
}

// readableBy reports whether all principals may read what carries the label.
func readableBy(l event.Label, who []string) bool {
	return len(who) > 0 && l.Audience().Includes(event.Only(slices.Clone(who)...))
}
