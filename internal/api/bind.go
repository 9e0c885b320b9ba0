package api

import (
	"encoding"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/witan-run/witan/internal/kit/fault"
)

// bind fills in from the request: fields tagged path, query and header are
// parameters, a field named Body is the body (a []byte takes it as it is).
// Parameters that no field names are refused by name.
func bind[I any](c *call, in *I) error {
	v := reflect.ValueOf(in).Elem()
	query, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		return fault.New(fault.Invalid, "the query cannot be read").On("query")
	}
	var known []string
	if c.route.QueryToken {
		known = append(known, "token")
	}
	body := reflect.Value{}
	var bodyField reflect.StructField
	for i := range v.NumField() {
		f, tag := v.Type().Field(i), v.Type().Field(i).Tag
		switch {
		case tag.Get("path") != "":
			err = setParam(v.Field(i), tag.Get("path"), c.r.PathValue(tag.Get("path")), true)
			if err != nil { // what is no id names nothing
				err = fault.New(fault.NotFound, "there is no such %s", tag.Get("path")).On(tag.Get("path"))
			}
		case tag.Get("query") != "":
			name := tag.Get("query")
			known = append(known, name)
			if vs := query[name]; len(vs) > 1 {
				err = fault.New(fault.Invalid, "it stands twice").On(name)
			} else if len(vs) == 1 {
				err = setParam(v.Field(i), name, vs[0], false)
			}
		case tag.Get("header") != "":
			err = setParam(v.Field(i), tag.Get("header"), c.r.Header.Get(tag.Get("header")), false)
		case f.Name == "Body":
			body, bodyField = v.Field(i), f
		}
		if err != nil {
			return err
		}
	}
	for _, name := range sortedKeys(query) {
		if !slices.Contains(known, name) {
			return fault.New(fault.Invalid, "there is no such parameter").On(name)
		}
	}
	if body.IsValid() {
		return bindBody(c, body, bodyField.Tag.Get("optional") != "")
	}
	return nil
}

func setParam(f reflect.Value, name, text string, path bool) error {
	bad := func(what string) error { return fault.New(fault.Invalid, "it must be %s", what).On(name) }
	if text == "" && !path {
		return nil
	}
	if u, ok := f.Addr().Interface().(encoding.TextUnmarshaler); ok {
		if err := u.UnmarshalText([]byte(text)); err != nil || f.IsZero() {
			return bad("an id, or a word of its list")
		}
		return nil
	}
	switch f.Kind() {
	case reflect.String:
		f.SetString(text)
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return bad("a whole number, 0 or more")
		}
		f.SetInt(n)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return bad("true or false")
		}
		f.SetBool(b)
	default:
		return fault.New(fault.Internal, "parameter %s has a type that nothing binds", name)
	}
	return nil
}

// bindBody reads the body and decodes it, strictly.
func bindBody(c *call, v reflect.Value, optional bool) error {
	raw, err := c.body()
	if err != nil {
		return err
	}
	if len(raw) == 0 && optional {
		return nil
	}
	if err := checkMedia(c); err != nil {
		return err
	}
	if v.Type() == reflect.TypeFor[[]byte]() {
		v.SetBytes(raw)
		return nil
	}
	return decode(raw, v.Addr().Interface())
}

// body reads the whole body. A sender that stops half way is waited for no
// longer than the route allows.
func (c *call) body() ([]byte, error) {
	rc := http.NewResponseController(c.w)
	if at, ok := c.r.Context().Deadline(); ok {
		_ = rc.SetReadDeadline(at) // a recorder in a test has none
	}
	raw, err := io.ReadAll(c.r.Body)
	var big *http.MaxBytesError
	switch {
	case errors.As(err, &big):
		return nil, tooLarge(big.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &statusError{http.StatusRequestTimeout, fault.New(fault.Timeout, "the body did not come in time").On("body")}
	case err == nil:
		_ = rc.SetReadDeadline(time.Time{})
		return raw, nil
	default:
		return nil, fault.New(fault.Cancelled, "the body broke off: %w", err)
	}
}

func tooLarge(limit int64) error {
	return &statusError{http.StatusRequestEntityTooLarge, fault.New(fault.Limited, "the body is larger than %d bytes", limit).On("body")}
}

// checkMedia refuses bodies of another type: a form of another site cannot be
// sent as JSON.
func checkMedia(c *call) error {
	want := c.route.Accepts
	if len(want) == 0 {
		want = []string{"application/json"}
	}
	media, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if err != nil || !slices.Contains(want, media) {
		return &statusError{http.StatusUnsupportedMediaType, fault.New(fault.Invalid, "the body must be %s", strings.Join(want, " or ")).On("Content-Type")}
	}
	return nil
}
