package work

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/canon"
	"github.com/witan-run/witan/internal/kit/fault"
	"github.com/witan-run/witan/internal/kit/id"
)

// Limits of Pano.
const (
	MaxDocument = 1 << 20 // bytes of one revision
	maxPath     = 200     // bytes
	maxDepth    = 8       // names in a path
	MaxPage     = 200     // documents of one list or search
)

// Document is one revision of a shared document.
type Document struct {
	ID       id.ID
	Path     string
	Revision int64 // from 1
	Text     string
	Digest   string // SHA-256 of the text, in hexadecimal
	Size     int64  // bytes
	By       string // principal that wrote it
	At       time.Time
	Event    id.ID // its pano.saved
	Subject  id.ID // whose words they are
	Label    event.Label
}

// ConflictError says that a document is not at the revision its writer saw. It
// is of kind fault.Conflict and holds both texts. Its message holds neither:
// whoever shows one must go by Current.Label.
type ConflictError struct {
	Current Document // zero if there is no such document
	Seen    int64    // the revision that the writer named
	Yours   string   // the text that was not written
}

// Error implements error.
func (e *ConflictError) Error() string { return e.Unwrap().Error() }

// Unwrap gives the error its kind.
func (e *ConflictError) Unwrap() error {
	if e.Current.Revision == 0 {
		return fault.New(fault.Conflict, "there is no document of that path; revision 0 begins one").On("revision")
	}
	return fault.New(fault.Conflict, "the document is at revision %d (%.12s, %d bytes, by %s on %s), not %d; yours is %.12s, %d bytes; read it again and merge",
		e.Current.Revision, e.Current.Digest, e.Current.Size, e.Current.By, e.Current.At.Format("2006-01-02 15:04:05Z"), e.Seen,
		digest(e.Yours), len(e.Yours)).On("revision")
}

func digest(text string) string {
	d := canon.Digest("witan/pano/1", []byte(text))
	return hex.EncodeToString(d[:])
}

var reserved = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)`)

// CheckPath returns fault.Invalid for a path that is no document's: names
// joined by "/", the last ending in ".md", without tricks of file systems.
func CheckPath(path string) error {
	bad := fault.New(fault.Invalid, "%q is no path of a document: write names joined by /, ending in .md", clip(path)).On("path")
	names := strings.Split(path, "/")
	if path == "" || len(path) > maxPath || !utf8.ValidString(path) || len(names) > maxDepth || !strings.HasSuffix(path, ".md") {
		return bad
	}
	for _, n := range names {
		if n == "" || n[0] == '.' || n[0] == ' ' || strings.HasSuffix(n, ".") || strings.HasSuffix(n, " ") || strings.ContainsAny(n, `\:*?"<>|`) || reserved.MatchString(n) {
			return bad
		}
		for _, r := range n {
			if !unicode.IsGraphic(r) || unicode.Is(unicode.Cf, r) {
				return bad
			}
		}
	}
	return nil
}

func clip(s string) string {
	const most = 80
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// Pano is the account's shared documents. It is safe for concurrent use.
type Pano struct {
	store  PanoStore
	origin event.Origin
}

// NewPano returns the service; origin may say pano.saved.
func NewPano(s PanoStore, origin event.Origin) (*Pano, error) {
	if s == nil || origin.Source() == "" {
		return nil, fault.New(fault.Internal, "pano: a store and an origin are required")
	}
	return &Pano{store: s, origin: origin}, nil
}

// Read returns a document for readers: the newest revision, or the one named.
// fault.NotFound if there is none, or one of the readers may not read it.
func (p *Pano) Read(tx event.Tx, path string, revision int64, readers []string) (Document, error) {
	none := fault.New(fault.NotFound, "there is no document %q", clip(path)).On("path")
	if err := CheckPath(path); err != nil {
		return Document{}, err
	}
	d, err := p.store.GetDocument(tx, path, revision)
	if fault.Is(err, fault.NotFound) || err == nil && !readable(d, readers) {
		return Document{}, none
	}
	return d, err
}

// readable reports whether all readers may read a revision. No reader reads nothing.
func readable(d Document, readers []string) bool {
	return len(readers) > 0 && d.Label.Audience().Includes(event.Only(readers...))
}

// Draft is a revision to be.
type Draft struct {
	Path    string
	Text    string
	Seen    int64 // the revision that the writer saw; 0 begins a document
	By      string
	Readers []string // principals who will read what comes of it
	Subject id.ID    // whose words they are; Nil means the account's
	Stream  id.ID
}

// Write saves a revision caused by cause, whose label it carries. A document
// that moved on is a *ConflictError, a text that is not Markdown fault.Invalid;
// nothing is written then. Writing what is there already, on what was seen,
// makes a new revision all the same.
func (p *Pano) Write(tx event.Tx, w Draft, cause event.Ref) (Document, error) {
	if err := CheckPath(w.Path); err != nil {
		return Document{}, err
	}
	switch {
	case len(w.Text) > MaxDocument:
		return Document{}, fault.New(fault.Limited, "a document has at most %d bytes", MaxDocument).On("text")
	case !utf8.ValidString(w.Text) || strings.ContainsRune(w.Text, 0):
		return Document{}, fault.New(fault.Invalid, "a document is text").On("text")
	case w.Seen < 0:
		return Document{}, fault.New(fault.Invalid, "%d is no revision", w.Seen).On("revision")
	case w.By == "":
		return Document{}, fault.New(fault.Internal, "a document needs a writer")
	}
	if w.Subject.IsZero() {
		w.Subject = tx.Account()
	}
	now, err := p.store.GetDocument(tx, w.Path, 0)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return Document{}, err
	}
	if now.Revision > 0 && !readable(now, w.Readers) {
		return Document{}, fault.New(fault.Conflict, "that path is taken by a document that may not be read here").On("path")
	}
	if now.Revision != w.Seen {
		return Document{}, &ConflictError{Current: now, Seen: w.Seen, Yours: w.Text}
	}
	d := Document{ID: now.ID, Path: w.Path, Revision: now.Revision + 1, Text: w.Text, Digest: digest(w.Text), Size: int64(len(w.Text)),
		By: w.By, At: tx.Now(), Subject: w.Subject}
	if d.ID.IsZero() {
		d.ID = tx.NewID()
	}
	ev, err := tx.Emit(p.origin, event.Draft{
		Payload: event.PanoSaved{DocumentID: d.ID, Path: d.Path, Revision: int(d.Revision), Digest: d.Digest, Size: d.Size, By: d.By},
		Summary: fmt.Sprintf("A shared document has revision %d.", d.Revision), Stream: w.Stream, Subject: w.Subject,
		Causes: []event.Ref{cause}, Evidence: []event.Reference{{Kind: event.RefDocument, ID: d.ID}},
	})
	if err != nil {
		return Document{}, err
	}
	d.Event, d.Label = ev.ID, ev.Label
	saved, err := p.store.AddRevision(tx, d)
	if err == nil && !saved { // another transaction was first: run again, and meet its revision
		err = fault.New(fault.Unavailable, "the document is being written by another")
	}
	return d, err
}

// List returns the newest revisions, without their texts, by path: those below
// folder ("" for all), after a path, at most limit (1 to MaxPage).
func (p *Pano) List(tx event.Tx, folder, after string, limit int, readers []string) (out []Document, err error) {
	limit = min(max(limit, 1), MaxPage)
	prefix := strings.Trim(folder, "/")
	if prefix != "" {
		prefix += "/"
	}
	err = p.store.EachDocument(tx, after, false, func(d Document) bool {
		if strings.HasPrefix(d.Path, prefix) && readable(d, readers) {
			out = append(out, d)
		}
		return len(out) < limit
	})
	return out, err
}
