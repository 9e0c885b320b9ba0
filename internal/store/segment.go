package store

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/clock"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
	"github.com/witan-run/witan/internal/kit/secret"
)

// archived is one event in an archive: its columns as they are stored, so that
// the archive verifies without a key.
type archived struct {
	Seq         int64  `json:"seq"`
	ID          id.ID  `json:"id"`
	Type        string `json:"type"`
	Version     int    `json:"version"`
	Stream      id.ID  `json:"stream"`
	Addressee   id.ID  `json:"addressee,omitzero"`
	Layer       string `json:"layer"`
	Source      string `json:"source"`
	Parents     string `json:"parents,omitempty"`
	Causation   id.ID  `json:"causation,omitzero"`
	Correlation id.ID  `json:"correlation"`
	Occurred    int64  `json:"occurredAt"`
	Recorded    int64  `json:"recordedAt"`
	Label       string `json:"label"`
	Salience    *int32 `json:"salience,omitempty"`
	Confidence  *int32 `json:"confidence,omitempty"`
	Valence     *int32 `json:"valence,omitempty"`
	Arousal     *int32 `json:"arousal,omitempty"`
	Evidence    string `json:"evidence,omitempty"`
	Subject     id.ID  `json:"subject"`
	Hash        string `json:"hash"`
	Body        string `json:"body"`
}

func b64(v any) string {
	b, _ := v.([]byte)
	return base64.StdEncoding.EncodeToString(b)
}

func archive(e *event.Event) archived {
	return archived{e.Seq, e.ID, string(e.Type), e.Version, e.Stream, e.Addressee, e.Layer.String(), e.Source, b64(packIDs(e.Parents)),
		e.Causation, e.Correlation, clock.Micros(e.OccurredAt), clock.Micros(e.RecordedAt), e.Label.String(),
		e.Feelings.Salience, e.Feelings.Confidence, e.Feelings.Valence, e.Feelings.Arousal, b64(packRefs(e.Evidence)),
		e.Subject, hex.EncodeToString(e.Hash[:]), b64(e.Sealed)}
}

// restore rebuilds the event from its archived columns.
func (a archived) restore(account id.ID) (e event.Event, err error) {
	e = event.Event{Account: account, Seq: a.Seq, ID: a.ID, Type: event.Type(a.Type), Version: a.Version, Stream: a.Stream,
		Addressee: a.Addressee, Source: a.Source, Causation: a.Causation, Correlation: a.Correlation, Subject: a.Subject,
		OccurredAt: clock.FromMicros(a.Occurred), RecordedAt: clock.FromMicros(a.Recorded),
		Feelings: event.Feelings{Salience: a.Salience, Confidence: a.Confidence, Valence: a.Valence, Arousal: a.Arousal}}
	e.Layer, _ = event.ParseLayer(a.Layer)
	if e.Label, err = event.ParseLabel(a.Label); err != nil {
		return e, err
	}
	parents, err1 := base64.StdEncoding.DecodeString(a.Parents)
	evidence, err2 := base64.StdEncoding.DecodeString(a.Evidence)
	body, err3 := base64.StdEncoding.DecodeString(a.Body)
	hash, err4 := hex.DecodeString(a.Hash)
	if err1 != nil || err2 != nil || err3 != nil || err4 != nil || len(hash) != 32 || len(parents)%16 != 0 || len(evidence)%17 != 0 {
		return e, fault.New(fault.Corrupt, "event %d of the archive cannot be read", a.Seq)
	}
	for p := range slices.Chunk(parents, 16) {
		e.Parents = append(e.Parents, id.ID(p))
	}
	for p := range slices.Chunk(evidence, 17) {
		e.Evidence = append(e.Evidence, event.Reference{Kind: event.RefKind(p[0]), ID: id.ID(p[1:])})
	}
	e.Sealed, e.BodyCommit, e.Hash = body, event.Commit(body), [32]byte(hash)
	return e, nil
}

// Export writes the account's events from seq to seq (inclusive; 0 means the
// end) as gzipped JSON lines: as stored, sealed and provable, or opened for
// reading when open is set (opened text proves nothing).
func (db *DB) Export(ctx context.Context, account id.ID, from, to int64, open bool, w io.Writer) (n, last int64, err error) {
	z := gzip.NewWriter(w)
	enc := json.NewEncoder(z)
	last = max(from, 1) - 1
	for to == 0 || last < to {
		var page []event.Event
		err := db.View(ctx, account, func(t event.Tx) (err error) {
			page, err = EventsAfter(t, last, 1000)
			return err
		})
		if err != nil {
			return n, last, err
		}
		for i := range page {
			e := &page[i]
			if to > 0 && e.Seq > to {
				return n, last, z.Close()
			}
			var line any = archive(e)
			if open {
				line = Readable(*e)
			}
			if err := enc.Encode(line); err != nil {
				return n, last, err
			}
			last = e.Seq
			n++
		}
		if len(page) < 1000 {
			break
		}
	}
	return n, last, z.Close()
}

// ReadableEvent is an opened event for people and programs, camelCase.
type ReadableEvent struct {
	Seq         int64         `json:"seq"`
	ID          id.ID         `json:"id"`
	Type        string        `json:"type"`
	Layer       string        `json:"sourceLayer"`
	Source      string        `json:"sourceId"`
	Stream      id.ID         `json:"stream"`
	Parent      id.ID         `json:"parentEventId,omitzero"`
	Parents     []id.ID       `json:"parents,omitempty"`
	Correlation id.ID         `json:"correlation"`
	OccurredAt  string        `json:"occurredAt"`
	RecordedAt  string        `json:"recordedAt"`
	Label       string        `json:"label"`
	Hash        string        `json:"hash"`
	Summary     string        `json:"summary,omitempty"`
	Payload     event.Payload `json:"payload,omitempty"`
	Erased      bool          `json:"erased,omitempty"`
}

const timeFormat = "2006-01-02T15:04:05.000000Z"

// Readable renders an event for people and programs.
func Readable(e event.Event) ReadableEvent {
	return ReadableEvent{e.Seq, e.ID, string(e.Type), e.Layer.String(), e.Source, e.Stream, e.Causation, e.Parents, e.Correlation,
		e.OccurredAt.Format(timeFormat), e.RecordedAt.Format(timeFormat), e.Label.String(), hex.EncodeToString(e.Hash[:]),
		e.Summary, e.Payload, e.Erased}
}

// leastSegment is the smallest prefix that may be cut, so that cutting cannot
// be used to drop a handful of awkward events.
const leastSegment = 100_000

// CutOptions say what to cut.
type CutOptions struct {
	Dir   string // where the archive goes; it must exist
	Upto  int64  // last seq to cut
	Least int64  // smallest segment; 0 means 100,000
	By    string
}

// Cut exports the oldest events up to a seq into a signed archive and removes
// them. The chain then begins at a signed base; VerifyArchive joins the two.
func (db *DB) Cut(ctx context.Context, account id.ID, c CutOptions, o event.Origin) (file string, err error) {
	if c.Least == 0 {
		c.Least = leastSegment
	}
	var base head
	var tip Tip
	if err := db.View(ctx, account, func(t event.Tx) (err error) {
		if base, err = baseOf(t); err == nil {
			tip, _, err = HeadOf(t)
		}
		return err
	}); err != nil {
		return "", err
	}
	if c.Upto >= tip.Seq || c.Upto-base.seq < c.Least {
		return "", fault.New(fault.Invalid, "a segment holds at least %d events and leaves the newest: the chain goes from %d to %d", c.Least, base.seq+1, tip.Seq).On("upto")
	}
	file = filepath.Join(c.Dir, fmt.Sprintf("segment-%s-%012d-%012d.jsonl.gz", account, base.seq+1, c.Upto))
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", fault.New(fault.Unavailable, "make the archive: %w", err).On("to")
	}
	path, tried := file, false // tried to cut: from then on the archive may be the only copy
	defer func() {
		if err != nil && !tried { // it would stand in the way of the next try, and of VerifyArchive
			_ = os.Remove(path)
		}
	}()
	_, last, err := db.Export(ctx, account, base.seq+1, c.Upto, false, f)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = syncDir(c.Dir)
	}
	var hash [32]byte
	if err == nil && last == c.Upto {
		hash, err = verifyArchiveFile(file, account, base.seq, base.hash) // nothing is cut that does not read back
	}
	if err != nil || last != c.Upto {
		if now, berr := db.base(ctx, account); berr == nil && now.seq != base.seq {
			return "", errCutMeanwhile()
		}
		return "", fault.Wrap(fault.Unavailable, cmpErr(err), "write the archive")
	}
	cp := Checkpoint{Account: account, Epoch: tip.Epoch, Seq: c.Upto, Hash: hash, At: db.clock.Now()}
	if cp.Signature, err = db.keyring.Sign(secret.PurposeCheckpoint, cp.message()); err != nil {
		return "", err
	}
	keys := db.keyring.PublicKeys(secret.PurposeCheckpoint)
	cp.Key = keys[len(keys)-1]
	tried = true
	err = db.DoBulk(ctx, account, func(t event.Tx) error {
		var waiting int64
		if err := auditSQL.Row(t, "waiting_below", []any{account, cp.Seq}, &waiting); err != nil {
			return err
		}
		if waiting > 0 {
			return fault.New(fault.Conflict, "%d reactions to events up to %d still wait for the router or a person", waiting, cp.Seq).On("upto")
		}
		n, err := auditSQL.Exec(t, "set_base", account, cp.Seq, hash[:], cp.Key.ID.String(), cp.Signature, clock.Micros(cp.At), base.seq)
		if err != nil {
			return err
		}
		if n == 0 { // the archive was written from another beginning
			return errCutMeanwhile()
		}
		if _, err := auditSQL.Exec(t, "cut", account, cp.Seq, base.seq); err != nil {
			return err
		}
		_, err = t.Emit(o, event.Draft{
			Payload: event.SegmentCut{FromSeq: base.seq + 1, ToSeq: cp.Seq, Hash: hex.EncodeToString(hash[:]), Archive: filepath.Base(file), By: c.By},
			Label:   event.NewLabel(event.House, event.AccountWide()), Summary: "A sealed segment left for an archive.",
		})
		return err
	})
	tried = !fault.Is(err, fault.Conflict) // a refusal cut nothing for sure
	return file, err
}

func errCutMeanwhile() error {
	return fault.New(fault.Conflict, "another segment was cut meanwhile").On("upto").WithFix("look where the chain begins and try again")
}

func (db *DB) base(ctx context.Context, account id.ID) (h head, err error) {
	err = db.View(ctx, account, func(t event.Tx) (err error) { h, err = baseOf(t); return err })
	return h, err
}

func cmpErr(err error) error {
	if err == nil {
		return fault.New(fault.Corrupt, "the archive is short")
	}
	return err
}

// verifyArchiveFile checks the chain inside one archive and returns its last hash.
func verifyArchiveFile(file string, account id.ID, after int64, prev [32]byte) (hash [32]byte, err error) {
	f, err := os.Open(file)
	if err != nil {
		return hash, fault.New(fault.NotFound, "open the archive: %w", err).On("archive")
	}
	defer func() { _ = f.Close() }() // only read
	z, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		return hash, fault.New(fault.Corrupt, "the archive is no gzip file").On("archive")
	}
	hasher, dec := event.NewHasher(), json.NewDecoder(z)
	for {
		var a archived
		if err := dec.Decode(&a); err == io.EOF {
			return prev, nil
		} else if err != nil {
			return hash, &BadEvent{after + 1, "the archive ends in the middle"}
		}
		e, err := a.restore(account)
		if err != nil {
			return hash, &BadEvent{after + 1, err.Error()}
		}
		if e.Seq != after+1 {
			return hash, &BadEvent{after + 1, "it is missing in the archive"}
		}
		if hasher.Chain(account, prev, &e) != e.Hash {
			return hash, &BadEvent{e.Seq, "it was changed in the archive"}
		}
		after, prev = e.Seq, e.Hash
	}
}

// VerifyArchive checks the archives of an account in dir and that they end
// where the chain in the database begins.
func VerifyArchive(ctx context.Context, j event.Journal, account id.ID, dir string) (events int64, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "segment-"+account.String()+"-*.jsonl.gz"))
	if err != nil {
		return 0, err
	}
	slices.Sort(files)
	var base head
	if err := j.View(ctx, account, func(t event.Tx) (err error) { base, err = baseOf(t); return err }); err != nil {
		return 0, err
	}
	var at int64
	var prev [32]byte
	for _, f := range files {
		if prev, err = verifyArchiveFile(f, account, at, prev); err != nil {
			return at, err
		}
		var to int64
		name := strings.TrimSuffix(filepath.Base(f), ".jsonl.gz")
		if _, err := fmt.Sscanf(name[strings.LastIndex(name, "-")+1:], "%d", &to); err != nil {
			return at, fault.New(fault.Invalid, "%s is not named like a segment", filepath.Base(f)).On("archive")
		}
		at = to
	}
	if at != base.seq || prev != base.hash {
		return at, &BadEvent{at + 1, fmt.Sprintf("the archives end at %d, the chain begins after %d", at, base.seq)}
	}
	return at, nil
}
