package api

import (
	"bytes"
	"encoding"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/witan-run/witan/internal/kit/fault"
)

// maxDepth bounds how deep a body may nest.
const maxDepth = 64

// decode reads one JSON document into a value. Members that the type does not
// have, members that stand twice and bytes behind the document are refused by
// name; nothing of the document's values is repeated in an error. Fields tagged
// required must not be empty.
func decode(raw []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := walk(dec, reflect.TypeOf(into).Elem(), "", 0); err != nil {
		return decodeError(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fault.New(fault.Invalid, "there is something behind the document").On("body")
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return decodeError(err)
	}
	return required(reflect.ValueOf(into).Elem(), "")
}

func decodeError(err error) error {
	var known *fault.Error
	var wrong *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	var base base64.CorruptInputError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &wrong):
		return fault.New(fault.Invalid, "it must be %s", kindWord(wrong.Type)).On(orBody(wrong.Field))
	case errors.As(err, &base):
		return fault.New(fault.Invalid, "a file's data must be base64").On("body")
	case errors.As(err, &syntax):
		return fault.New(fault.Invalid, "the body is no JSON from byte %d on", syntax.Offset).On("body")
	}
	return fault.New(fault.Invalid, "the body is no JSON document").On("body")
}

func orBody(field string) string {
	if field == "" {
		return "body"
	}
	return field
}

func kindWord(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case isText(t):
		return "a text"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Float64:
		return "a whole number"
	case t.Kind() == reflect.Slice:
		return "a list"
	case t.Kind() == reflect.String:
		return "a text"
	}
	return "an object"
}

func isText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

func isOpaque(t reflect.Type) bool {
	return t.Kind() == reflect.Interface || isText(t) || t == reflect.TypeFor[json.RawMessage]() || t == reflect.TypeFor[[]byte]() ||
		reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// walk checks the members of the next value against a type.
func walk(dec *json.Decoder, t reflect.Type, path string, depth int) error {
	if depth > maxDepth {
		return fault.New(fault.Invalid, "it nests deeper than %d", maxDepth).On(orBody(path))
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if isOpaque(t) {
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil || !isText(t) || string(value) == "null" {
			return err
		}
		if json.Unmarshal(value, reflect.New(t).Interface()) != nil {
			return fault.New(fault.Invalid, "it must be an id, a time, or a word of its list").On(orBody(path))
		}
		return nil
	}
	token, err := dec.Token()
	if err != nil {
		return err
	}
	if token == nil && depth == 0 {
		return fault.New(fault.Invalid, "it must be %s", kindWord(t)).On("body")
	}
	open, _ := token.(json.Delim)
	switch {
	case open == '{' && (t.Kind() == reflect.Struct || t.Kind() == reflect.Map):
		return walkObject(dec, t, path, depth)
	case open == '[' && t.Kind() == reflect.Slice:
		for i := 0; dec.More(); i++ {
			if err := walk(dec, t.Elem(), path+"["+strconv.Itoa(i)+"]", depth+1); err != nil {
				return err
			}
		}
		_, err = dec.Token()
		return err
	case open != 0 || token != nil && (t.Kind() == reflect.Struct || t.Kind() == reflect.Map || t.Kind() == reflect.Slice):
		return fault.New(fault.Invalid, "it must be %s", kindWord(t)).On(orBody(path))
	}
	return nil
}

func walkObject(dec *json.Decoder, t reflect.Type, path string, depth int) error {
	members := map[string]reflect.Type{}
	if t.Kind() == reflect.Struct {
		fields(t, func(name string, f reflect.StructField) { members[name] = f.Type })
	}
	seen := map[string]bool{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		at := strings.TrimPrefix(path+"."+name, ".")
		if seen[name] {
			return fault.New(fault.Invalid, "it stands twice").On(at)
		}
		seen[name] = true
		next, ok := members[name]
		if t.Kind() == reflect.Map {
			next, ok = t.Elem(), true
		}
		if !ok {
			return fault.New(fault.Invalid, "there is no such member").On(at).WithFix("it takes %s", strings.Join(sortedKeys(members), ", "))
		}
		if err := walk(dec, next, at, depth+1); err != nil {
			return err
		}
	}
	_, err := dec.Token()
	return err
}

// fields calls f for each member of a struct under its JSON name; embedded
// structs are part of it.
func fields(t reflect.Type, f func(name string, field reflect.StructField)) {
	for i := range t.NumField() {
		field := t.Field(i)
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case tag == "-", !field.IsExported() && !field.Anonymous:
		case field.Anonymous && tag == "":
			fields(field.Type, f)
		case tag != "":
			f(tag, field)
		default:
			f(field.Name, field)
		}
	}
}

// required finds a member that is tagged so and empty.
func required(v reflect.Value, path string) (err error) {
	if v.Kind() != reflect.Struct || isOpaque(v.Type()) {
		return nil
	}
	fields(v.Type(), func(name string, f reflect.StructField) {
		if err == nil && f.Tag.Get("required") != "" && v.FieldByName(f.Name).IsZero() {
			err = fault.New(fault.Invalid, "it is missing").On(strings.TrimPrefix(path+"."+name, "."))
		}
	})
	return err
}
