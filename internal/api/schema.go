package api

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode"

	"github.com/witan-run/witan/internal/event"
	"github.com/witan-run/witan/internal/kit/id"
)

// object is a JSON object under construction.
type object = map[string]any

// schemas makes JSON Schemas (2020-12) of Go types, as encoding/json reads and
// writes them. Named structs become components, once each.
type schemas struct {
	components object
	types      map[string]reflect.Type
	err        error
}

func newSchemas() *schemas {
	return &schemas{components: object{}, types: map[string]reflect.Type{}}
}

func (s *schemas) of(t reflect.Type) object {
	switch t {
	case reflect.TypeFor[id.ID]():
		return object{"$ref": "#/components/schemas/Id"}
	case reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case reflect.TypeFor[json.RawMessage]():
		return object{"description": "any JSON"}
	case reflect.TypeFor[sortOrder]():
		return object{"type": "number"}
	case reflect.TypeFor[[]byte]():
		return object{"type": "string", "contentEncoding": "base64"}
	case reflect.TypeFor[event.Payload]():
		return object{"type": "object", "description": "by its type; see docs/events.md"}
	}
	if t.Kind() == reflect.Pointer {
		return s.of(t.Elem())
	}
	if isText(t) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return object{"type": "string"}
	}
	switch t.Kind() {
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int32, reflect.Int64:
		return object{"type": "integer"}
	case reflect.Slice:
		return object{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Struct:
		return s.named(t)
	default:
		s.fail("no schema for %s", t)
		return object{}
	}
}

func (s *schemas) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("openapi: "+format, args...)
	}
}

// named returns a reference to the component of a struct, or the schema of one
// that has no name.
func (s *schemas) named(t reflect.Type) object {
	if t.Name() == "" {
		return s.structure(t)
	}
	name := componentName(t)
	if known, ok := s.types[name]; !ok {
		s.types[name] = t // before its members: it may hold itself
		s.components[name] = s.structure(t)
	} else if known != t {
		s.fail("%s and %s have one name", known, t)
	}
	return object{"$ref": "#/components/schemas/" + name}
}

// componentName is the word for a type: approvalView is Approval, a list of them
// ApprovalList.
func componentName(t reflect.Type) string {
	name := t.Name()
	if head, of, ok := strings.Cut(name, "["); ok {
		of = strings.TrimSuffix(of[strings.LastIndexByte(of, '.')+1:], "]")
		name = strings.TrimSuffix(of, "View") + strings.ToUpper(head[:1]) + head[1:]
	}
	name = strings.TrimSuffix(name, "View")
	r := []rune(name)
	r[0] = unicode.ToUpper(r[0])
	return string(r)
}

// structure describes an object. What is read is closed; members that may be
// left out of an answer, or of a body, are not required.
func (s *schemas) structure(t reflect.Type) object {
	props, need := object{}, []string{}
	fields(t, func(name string, f reflect.StructField) {
		p := s.of(f.Type)
		if doc := f.Tag.Get("doc"); doc != "" {
			p["description"] = doc
		}
		props[name] = p
		optional := strings.Contains(f.Tag.Get("json"), ",omit")
		if f.Tag.Get("required") != "" || !optional && strings.HasSuffix(t.Name(), "View") {
			need = append(need, name)
		}
	})
	out := object{"type": "object", "properties": props, "additionalProperties": false}
	if len(need) > 0 {
		out["required"] = need
	}
	return out
}
