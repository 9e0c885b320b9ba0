package canon

import (
	"errors"
	"strconv"
	"strings"
)

// The reasons for which a document is refused; test for them with errors.Is.
var (
	ErrSyntax    = errors.New("not valid JSON")
	ErrFloat     = errors.New("number is not an integer (no fraction, no exponent)")
	ErrRange     = errors.New("integer is not below 2^53 in size")
	ErrDuplicate = errors.New("object key appears twice")
	ErrNUL       = errors.New("text holds U+0000")
	ErrSurrogate = errors.New("text holds a lone surrogate")
	ErrUTF8      = errors.New("text is not valid UTF-8")
	ErrDepth     = errors.New("nested deeper than " + strconv.Itoa(MaxDepth) + " levels")
	ErrSize      = errors.New("document is too large")
)

// Error says what was refused and where.
type Error struct {
	Path   string // JSON path of the culprit: "$", "$.args[2].name", `$["odd key"]`
	Reason error  // one of the Err values of this package
	Detail string // the offending text, cut short; may be empty
}

// Error renders "$.path: reason (detail)".
func (e *Error) Error() string {
	s := e.Path + ": " + e.Reason.Error()
	if e.Detail != "" {
		s += " (" + e.Detail + ")"
	}
	return s
}

// Unwrap returns the reason, so that errors.Is(err, ErrFloat) works.
func (e *Error) Unwrap() error { return e.Reason }

// refuse makes an error at the current value; the callers above prepend their
// path segments on the way out, so that a good document pays nothing for paths.
func refuse(reason error, detail string) *Error {
	const most = 40
	if len(detail) > most {
		detail = strings.ToValidUTF8(detail[:most], "") + "…"
	}
	return &Error{Reason: reason, Detail: detail}
}

// inKey prepends an object member to the path.
func (e *Error) inKey(key string) *Error {
	if plain(key) {
		e.Path = "." + key + e.Path
	} else {
		e.Path = "[" + strconv.Quote(key) + "]" + e.Path
	}
	return e
}

// inIndex prepends an array element to the path.
func (e *Error) inIndex(i int) *Error {
	e.Path = "[" + strconv.Itoa(i) + "]" + e.Path
	return e
}

// plain reports whether a key may stand behind a dot.
func plain(key string) bool {
	for i := range len(key) {
		c := key[i]
		if c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return key != ""
}
