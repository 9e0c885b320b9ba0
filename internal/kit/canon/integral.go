package canon

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

// Integral returns an error that names the first field of t which can hold
// something without a canonical form: a float, a complex number, or an
// interface (which may hide a float; use json.RawMessage).
//
// It is meant for tests over payload types. Types that marshal themselves are
// trusted: their output still passes Canonicalize.
func Integral(t reflect.Type) error { return integral(t, t.String(), map[reflect.Type]bool{}) }

func integral(t reflect.Type, path string, seen map[reflect.Type]bool) error {
	if seen[t] || marshalsItself(t) {
		return nil
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return fmt.Errorf("%s is a %s: %w", path, t, ErrFloat)
	case reflect.Interface:
		return fmt.Errorf("%s is an interface and may hide a float: %w", path, ErrFloat)
	case reflect.Pointer:
		return integral(t.Elem(), path, seen)
	case reflect.Slice, reflect.Array:
		return integral(t.Elem(), path+"[]", seen)
	case reflect.Map:
		return integral(t.Elem(), path+"{}", seen)
	case reflect.Struct:
		for f := range t.Fields() {
			if (!f.IsExported() && !f.Anonymous) || f.Tag.Get("json") == "-" {
				continue
			}
			if err := integral(f.Type, path+"."+f.Name, seen); err != nil {
				return err
			}
		}
	case reflect.Chan, reflect.Func, reflect.UnsafePointer:
		return fmt.Errorf("%s is a %s, which JSON cannot hold", path, t.Kind())
	}
	return nil
}

func marshalsItself(t reflect.Type) bool {
	js, txt := reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler]()
	p := reflect.PointerTo(t)
	return t.Kind() != reflect.Interface && (t.Implements(js) || t.Implements(txt) || p.Implements(js) || p.Implements(txt))
}

// validStrings returns ErrUTF8 with a path for the first string in v that is
// not valid UTF-8. It is the slow road of JSON, taken only on suspicion.
func validStrings(v any) error {
	if err := walkStrings(reflect.ValueOf(v), 0); err != nil {
		err.Path = "$" + err.Path
		return err
	}
	return nil
}

func walkStrings(v reflect.Value, depth int) *Error {
	if depth > 4*MaxDepth { // pointers and interfaces count too
		return refuse(ErrDepth, "")
	}
	if v.IsValid() && v.Kind() != reflect.Pointer && marshalsItself(v.Type()) {
		return nil
	}
	switch v.Kind() {
	case reflect.String:
		if !utf8.ValidString(v.String()) {
			return refuse(ErrUTF8, "")
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return walkStrings(v.Elem(), depth+1)
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return nil // base64, or raw JSON that Canonicalize has checked
		}
		for i := range v.Len() {
			if err := walkStrings(v.Index(i), depth+1); err != nil {
				return err.inIndex(i)
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			name := strings.ToValidUTF8(fmt.Sprint(it.Key()), "?")
			if err := walkStrings(it.Key(), depth+1); err != nil {
				return err.inKey(name)
			}
			if err := walkStrings(it.Value(), depth+1); err != nil {
				return err.inKey(name)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if (!f.IsExported() && !f.Anonymous) || f.Tag.Get("json") == "-" {
				continue
			}
			if err := walkStrings(v.Field(i), depth+1); err != nil {
				name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				if name == "" {
					name = f.Name
				}
				return err.inKey(name)
			}
		}
	}
	return nil
}
